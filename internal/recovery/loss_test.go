package recovery

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

func proc0(rank, replica int) job.Process { return job.Process{Rank: rank, Replica: replica} }

// lost returns the loss among actions, nil if there is none.
func lost(acts []Action) *Loss {
	for _, a := range acts {
		if a.Kind == Lose {
			return a.Loss
		}
	}
	return nil
}

// Ranks that the others can do without are not lost, nor a reason to go back;
// another rank still is.
func TestARankThatIsThrough(t *testing.T) {
	h := NewHead(Config{Degrees: []int{1, 1, 1}, Start: true})
	h.Finished(proc0(1, 0), 1, 0)
	h.Through(proc0(1, 0), 1, 0)
	require.Empty(t, h.Died(proc0(1, 0), 1, false, 0))
	require.Empty(t, h.Failed())
	h.Finished(proc0(2, 0), 1, 0) // its end still counts
	require.Equal(t, Finish, h.State(proc0(2, 0)))
	require.Equal(t, &Loss{Rank: 0, Why: "no backup was asked for"}, lost(h.Died(proc0(0, 0), 1, false, 0)))
}

// A process that cannot be started is asked for again, and then the loss says why.
func TestAReplacementThatIsRefused(t *testing.T) {
	h := NewHead(Config{Degrees: []int{1, 1}, Start: true, Backup: Policy{Every: 2}})
	h.complete = &backup{number: 2, copies: [][]holder{{{process: proc0(1, 0), incarnation: 1, stored: true}}, {{process: proc0(1, 0), incarnation: 1, stored: true}}}}
	acts := h.Died(proc0(0, 0), 1, false, 0)
	for range attempts {
		require.Equal(t, Start, acts[0].Kind)
		require.Nil(t, lost(acts))
		acts = h.Refused(proc0(0, 0), acts[0].Incarnation, "no such file", 0)
	}
	require.Equal(t, &Loss{Rank: 0, Why: "no process takes its place: no such file"}, lost(acts))
}

// The job can come back without a process if others hold each rank's state.
func TestReturns(t *testing.T) {
	held := func(by ...job.Process) (all []holder) {
		for _, p := range by {
			all = append(all, holder{process: p, incarnation: 1, stored: true})
		}
		return all
	}
	a, b, c := proc0(0, 0), proc0(1, 0), proc0(2, 0)
	for _, test := range []struct {
		name   string
		config Config
		copies [][]holder
		want   bool
	}{
		{"no backup", Config{Start: true}, nil, false},
		{"nobody to take its place", Config{}, [][]holder{held(a, b), held(b, c), held(c, a)}, false},
		{"held by others", Config{Start: true}, [][]holder{held(a, b), held(b, c), held(c, a)}, true},
		{"by a spare too", Config{Spares: 1}, [][]holder{held(b), held(b, c), held(c)}, true},
		{"held by itself alone", Config{Start: true}, [][]holder{held(a), held(b, c), held(c, a)}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.config.Degrees = []int{1, 1, 1}
			h := NewHead(test.config)
			if test.copies != nil {
				h.complete = &backup{number: 2, copies: test.copies}
			}
			require.Equal(t, test.want, h.Returns(a))
		})
	}
}

// A newcomer holds nothing: its death is not what took the last copy along, even
// for the next head, which does not know yet that the copies are gone.
func TestTheLastThatHeldACopy(t *testing.T) {
	last := job.Endpoint{Process: proc0(1, 0), Incarnation: 1}
	h, _ := Resume(Config{Degrees: []int{1, 1, 1}, Start: true, Backup: Policy{Every: 2}}, Snapshot{
		Incarnations: 3, Rolling: true, Since: 0, Complete: 2, Cut: 2, Failures: Failures{Count: 2}, Last: last,
		Places: map[job.Process]Place{
			proc0(0, 0): {Incarnation: 2, Status: Joining},
			proc0(1, 0): {Incarnation: 3, Status: Joining},
			proc0(2, 0): {Incarnation: 1, Status: Lives},
		},
	}, 0)
	require.Nil(t, lost(h.Died(proc0(1, 0), 3, true, 0)))
	loss := lost(h.Repeated(proc0(2, 0), 1, 0))
	require.Equal(t, &Loss{Rank: 0, Back: true, Number: 2, Since: 0, By: last, Why: "the last process that held the state of rank 0 is dead"}, loss)
}
