package launch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/runreport"
)

// What processes say of verdicts goes to the one that they mean, whatever they
// make up besides.
func TestHandledVerdicts(t *testing.T) {
	h := newHead(&Config{Degrees: []int{2, 2}}, job.NewSecret())
	h.enlist(func(job.Process) (agent, *job.Host) { return nil, nil })
	h.joined = time.Now().Add(-time.Hour)
	for i, p := range []job.Process{{Replica: 1}, {Rank: 1, Replica: 1}} {
		v := h.ledger.die(p, 1, job.CauseSignal, "killed", time.Duration(i+1)*time.Second)
		h.failures = append(h.failures, runreport.NewFailure(v, time.Duration(i+1)*time.Second))
	}
	first := h.members[job.Process{}]
	for _, epoch := range []uint64{2, 0, 3, 1 << 63} {
		h.handle(first, &job.Message{Kind: job.KindHandled, Epoch: epoch})
	}
	require.Empty(t, h.failures[0].Handled)
	require.Len(t, h.failures[1].Handled, 1)
	require.InDelta(t, 3600, h.failures[1].Handled[first.process], 600)
	h.handle(first, &job.Message{Kind: job.KindHandled, Epoch: 1, Ago: 2 * time.Hour})
	require.Equal(t, map[job.Process]float64{first.process: 1}, h.failures[0].Handled, "as long ago as can be")
}
