package launch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

func TestFailureCountsItsSurvivors(t *testing.T) {
	for _, c := range []struct {
		name   string
		by     string
		at     time.Duration
		counts bool
		want   float64
	}{
		{"a survivor", "0.0", 1600 * time.Millisecond, true, 1.6},
		{"its first word counts", "0.0", 1700 * time.Millisecond, false, 1.6},
		{"not before it was declared", "1.1", 1400 * time.Millisecond, true, 1.5},
		{"the dead handles nothing", "0.1", 1600 * time.Millisecond, false, 0},
	} {
		f := newFailure(job.Verdict{Epoch: 3, Process: job.Process{Replica: 1}, Cause: job.CauseSignal}, 1500*time.Millisecond)
		f.Handled[job.Process{Rank: 7}] = 2
		p, err := job.ParseProcess(c.by)
		require.NoError(t, err, c.name)
		if !c.counts && c.want > 0 {
			f.Handled[p] = c.want
		}
		require.Equal(t, c.counts, f.handledBy(p, c.at), c.name)
		require.Equal(t, c.want, f.Handled[p], c.name)
		require.EqualValues(t, 2, f.Handled[job.Process{Rank: 7}], c.name)
	}
}

// What processes say of verdicts goes to the one that they mean, whatever they
// make up besides.
func TestHandledVerdicts(t *testing.T) {
	h := newHead(&Config{Degrees: []int{2, 2}}, job.NewSecret())
	h.enlist(func(job.Process) (agent, *job.Host) { return nil, nil })
	h.joined = time.Now().Add(-time.Hour)
	for i, p := range []job.Process{{Replica: 1}, {Rank: 1, Replica: 1}} {
		v := h.ledger.die(p, 1, job.CauseSignal, "killed", time.Duration(i+1)*time.Second)
		h.failures = append(h.failures, newFailure(v, time.Duration(i+1)*time.Second))
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
