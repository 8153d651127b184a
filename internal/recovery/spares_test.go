package recovery

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// The last spare goes to the rank that has no replica left. The order in which the
// processes of a lost host are reported does not matter.
func TestTheLastSpareGoesToALostRank(t *testing.T) {
	h := NewHead(Config{Degrees: []int{2, 1, 1}, Spares: 1, Backup: Policy{Every: 2}})
	all := make([][]holder, 3)
	for rank := range all {
		all[rank] = []holder{{process: proc0(2, 0), incarnation: 1, stored: true}}
	}
	h.backups.complete = &backup{number: 2, copies: all}
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

// The head withdraws the request for a process that was not chosen yet if a lost rank
// needs the process more.
func TestASpareThatIsNotChosenGoesToALostRank(t *testing.T) {
	h := NewHead(Config{Degrees: []int{2, 1, 1}, Spares: 1, Backup: Policy{Every: 2}})
	all := make([][]holder, 3)
	for rank := range all {
		all[rank] = []holder{{process: proc0(2, 0), incarnation: 1, stored: true}}
	}
	h.backups.complete = &backup{number: 2, copies: all}
	h.replicas.of[proc0(0, 0)].safe = true
	started := func(acts []Action) (all []job.Endpoint) {
		for _, a := range acts {
			require.NotEqual(t, Lose, a.Kind)
			if a.Kind == Start {
				all = append(all, job.Endpoint{Process: a.To, Incarnation: a.Incarnation})
			}
		}
		return all
	}
	asked := started(h.Died(proc0(0, 1), 1, false, 0))
	require.Len(t, asked, 1)
	require.Equal(t, proc0(0, 1), asked[0].Process)
	require.Empty(t, started(h.Returned(proc0(0, 1), asked[0].Incarnation+1, 0)), "of another one")
	require.Empty(t, started(h.Returned(proc0(0, 1), asked[0].Incarnation, 0)))
	asked = started(h.Died(proc0(1, 0), 1, false, 0))
	require.Len(t, asked, 1)
	require.Equal(t, proc0(1, 0), asked[0].Process)
	require.Empty(t, started(h.Returned(proc0(0, 1), 2, 0)), "it is not asked for any more")
}

// TestSpareOfADismissedReplica requests a spare for a slot that is then no longer needed,
// because a rank has finished. If the spare was not chosen yet, it is available to a lost
// rank.
func TestSpareOfADismissedReplica(t *testing.T) {
	for _, chosen := range []bool{false, true} {
		h := NewHead(Config{Degrees: []int{2, 1}, Spares: 1, Backup: Policy{Every: 2}})
		h.backups.complete = &backup{number: 2, copies: [][]holder{{{process: proc0(0, 0), incarnation: 1, stored: true}}, {{process: proc0(0, 0), incarnation: 1, stored: true}}}}
		h.replicas.of[proc0(0, 0)].safe = true
		only := func(kind ActionKind, acts []Action) (found *Action) {
			for _, a := range acts {
				if a.Kind == kind {
					require.Nil(t, found)
					found = &a
				}
			}
			return found
		}
		asked := only(Start, h.Died(proc0(0, 1), 1, false, 0))
		require.NotNil(t, asked)
		require.Equal(t, proc0(0, 1), only(Dismiss, h.Finished(proc0(0, 0), 1, 0)).To)
		if !chosen {
			require.Nil(t, only(Start, h.Returned(proc0(0, 1), asked.Incarnation, 0)))
			require.Empty(t, h.Returned(proc0(0, 1), asked.Incarnation, 0), "once")
		}
		acts := h.Died(proc0(1, 0), 1, false, 0)
		if chosen {
			require.NotNil(t, only(Lose, acts), "it is spent")
			continue
		}
		require.Equal(t, proc0(1, 0), only(Start, acts).To)
		require.Zero(t, h.replicas.spares)
	}
}
