package recovery

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// The last spare goes to the rank that has nobody left, whichever of those that died
// with a host was named first.
func TestTheLastSpareGoesToALostRank(t *testing.T) {
	h := NewHead(Config{Degrees: []int{2, 1, 1}, Spares: 1, Backup: Policy{Every: 2}})
	all := make([][]holder, 3)
	for rank := range all {
		all[rank] = []holder{{process: proc0(2, 0), incarnation: 1, stored: true}}
	}
	h.complete = &backup{number: 2, copies: all}
	require.Empty(t, h.DiedWith(proc0(0, 1), 1, false, 0))
	h.DiedWith(proc0(1, 0), 1, false, 0)
	var started []job.Process
	for _, a := range h.Conclude(0) {
		require.NotEqual(t, Lose, a.Kind)
		if a.Kind == Start {
			started = append(started, a.To)
		}
	}
	require.Equal(t, []job.Process{proc0(1, 0)}, started)
}
