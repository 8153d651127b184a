package sdrtest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport/sdr"
)

// TestEndOfACut: a process of the mirrored protocol passes a cut while its link still holds
// a message from before the cut, which the other replica has delivered. The process then
// acknowledges a message from after the cut. This is permitted, and the process may die at
// that point.
func TestEndOfACut(t *testing.T) {
	for name, dies := range map[string]bool{"lives": false, "dies as it acknowledges": true} {
		t.Run(name, func(t *testing.T) {
			r := &run{job: Job{Degrees: []int{1, 2}, Mirror: true}, pasts: NewPasts([]int{1, 2}), spent: make(map[int]bool), links: make(map[pair]*Link), random: rand.New(rand.NewPCG(1, 2))}
			contexts := make(map[*Process]*sdr.Context)
			for _, at := range [][2]int{{0, 0}, {1, 0}, {1, 1}} {
				p := &Process{Rank: at[0], Replica: at[1], job: r}
				r.processes = append(r.processes, p)
				p.Engine = sdr.NewEngine(p.config())
				var err error
				contexts[p], err = p.Engine.Join(7, 0, false, nil)
				require.NoError(t, err)
			}
			r.head = newHead(r)
			one, slow, fast := r.processes[0], r.processes[1], r.processes[2]
			slow.Link(0, 0).(*Link).Sever()
			for _, p := range []*Process{slow, fast} {
				p.Engine.Send(contexts[p], new(sdr.Request), []byte("before"), 0, 0, false)
			}

			r.drain(t, r.processes)
			one.passCut(nil)
			one.Engine.Send(contexts[one], new(sdr.Request), []byte("after"), 1, 0, false)
			for r.move() {
			}

			kept, _ := slow.Engine.Retained()
			require.NotZero(t, kept)
			frames := slow.reached[AtFrame]
			if dies {
				r.job.Kills = []Kill{{Rank: 1, Point: AtFrame, Count: frames}}
			}
			slow.passCut(nil)
			require.Greater(t, slow.reached[AtFrame], frames, "the process sends an acknowledgement")
			require.Equal(t, dies, slow.Killed)
			require.NoError(t, r.head.err)
		})
	}
}

// drain makes these processes begin a cut one after the other, and receive all messages
// from before it. A process that has begun the cut waits for the others.
func (r *run) drain(t *testing.T, list []*Process) {
	rest := list[1:]
	list[0].yield = func(struct{}) bool {
		if len(rest) > 0 {
			r.drain(t, rest)
			rest = nil
			return true
		}
		return r.move()
	}
	require.NoError(t, list[0].Engine.Drain(t.Context(), 1))
}

// move moves the first link that can take a step.
func (r *run) move() bool {
	for _, l := range r.order {
		if l.CanMove() {
			l.Move()
			return true
		}
	}
	return false
}
