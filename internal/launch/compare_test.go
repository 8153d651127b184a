package launch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// A successor of the head knows from the log who has finished, and hears the
// counts of each one again: until then there is nothing to compare.
func TestCountsOfTheEndAreCompared(t *testing.T) {
	a, b := job.Process{}, job.Process{Replica: 1}
	m := &member{process: a, final: true, stats: job.Stats{Sections: 898}}
	other := &member{process: b}
	h := &head{config: &Config{}, ledger: newLedger([]int{2}), members: map[job.Process]*member{a: m, b: other}, phase: over}
	h.ledger.finish(a)
	h.ledger.finish(b)
	h.compare(m)
	require.False(t, h.ledger.decided, h.ledger.text)

	other.final, other.stats = true, m.stats
	h.compare(other)
	require.False(t, h.ledger.decided, h.ledger.text)

	other.stats.Sections = 897
	h.compare(other)
	require.Equal(t, ExitDiverged, h.ledger.code)
	require.Contains(t, h.ledger.text, "divergence of 0.1 and 0.0")
}
