package engine

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/sched"
)

// comparing compares states at every every-th safe point.
func comparing(every uint64) setup {
	return func(s *job.Setup, _ *Config) { s.Verify = &job.Verification{State: every, Seed: 7} }
}

// safeRounds runs a program of that many rounds, each after a safe point, and returns the
// result of each replica.
func safeRounds(g *group, rounds int, policy sched.Policy) map[*replica]*vectors {
	all := make(map[*replica]*vectors)
	for _, r := range g.replicas {
		all[r] = newVectors(nil)
	}
	g.run(func(r *replica, p *Program) error {
		v := all[r]
		if err := p.Protect("x", &v.x); err != nil {
			return err
		}
		if err := p.Protect("w", &v.w); err != nil {
			return err
		}
		for range rounds {
			if err := p.SafePoint(nil); err != nil {
				return err
			}
			if err := v.round(p, policy); err != nil {
				return err
			}
		}
		return nil
	})
	return all
}

// judging is a head that kills a blamed process, and ends the job if none can be blamed.
func judging(g *group) (apart func() []job.Dispute, blamed func() []job.Blame) {
	var mu sync.Mutex
	var all []job.Dispute
	var wrong []job.Blame
	kill := func(r *replica) {
		r.cancel(errors.New("fenced"))
		g.declare(r, job.CauseFenced)
		go r.hangUp()
	}
	g.onReport = func(_ *replica, st job.Stats) {
		c := st.Corruption
		for _, v := range c.Blames {
			mu.Lock()
			wrong = append(wrong, v)
			mu.Unlock()
			kill(g.replicas[v.Process.Replica])
		}
		if c.Dispute == nil {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, *c.Dispute)
		for _, r := range g.replicas {
			kill(r)
		}
	}
	return func() []job.Dispute {
			mu.Lock()
			defer mu.Unlock()
			return all
		}, func() []job.Blame {
			mu.Lock()
			defer mu.Unlock()
			return wrong
		}
}

// One bit of the state of any replica is wrong, at any safe point. The other replicas blame that
// one, and continue with the right bits.
func TestWrongStateIsBlamed(t *testing.T) {
	want := serial(4)
	for point := range 4 {
		for wrong := range 3 {
			g := newGroup(t, 3, comparing(1), flipped(t, fmt.Sprintf("0.%d@state:%d:%d", wrong, point, 9999*wrong+point)))
			apart, blamed := judging(g)
			all := safeRounds(g, 4, sched.Adaptive)
			require.Empty(t, apart())
			require.Len(t, g.survivors(), 2)
			for _, r := range g.survivors() {
				require.NotEqual(t, wrong, r.setup.Self.Replica)
				require.NoError(t, r.err)
				require.Equal(t, want, all[r])
			}
			require.NotEmpty(t, blamed())
			for _, c := range blamed() {
				if c.Lost { // the blamed process itself reports this
					c.Core, c.Seconds, c.Lost = -1, 0, false
				}
				require.Equal(t, job.Blame{Process: job.Process{Replica: wrong}, Incarnation: 1, Core: -1, Section: uint64(2 * point), Task: -1, Point: uint64(point + 1)}, c)
			}
		}
	}
}

// One bit of a result that a replica receives is wrong. Either its state is wrong at the
// next safe point and the other replicas blame it, or it did not use the result.
func TestWrongUpdateIsBlamed(t *testing.T) {
	want := serial(4)
	found := 0
	for count := range 8 {
		g := newGroup(t, 3, comparing(1), flipped(t, fmt.Sprintf("0.1@update:%d:62", count)))
		apart, blamed := judging(g)
		all := safeRounds(g, 4, sched.Static) // all updates of the first round
		require.Empty(t, apart())
		for _, r := range g.survivors() {
			require.NoError(t, r.err)
			require.Equal(t, want, all[r])
		}
		for _, c := range blamed() {
			require.Equal(t, job.Process{Replica: 1}, c.Process)
			found++
		}
	}
	require.Positive(t, found)
}

// With two replicas none can be blamed, so the head receives both hashes.
func TestStatesApart(t *testing.T) {
	g := newGroup(t, 2, comparing(2), flipped(t, "0.1@state:3"))
	apart, _ := judging(g)
	safeRounds(g, 6, sched.Adaptive)
	require.NotEmpty(t, apart())
	for _, a := range apart() {
		require.EqualValues(t, 4, a.Point)
		require.Regexp(t, `^the registered state at safe point 4 differs, and it cannot be told whose is wrong \(replica 0: [0-9a-f]{16}, replica 1: [0-9a-f]{16}\)$`, a.Text)
	}
}

// Equal states are compared at the requested safe points, even if replicas die meanwhile.
func TestStatesAlike(t *testing.T) {
	for _, kill := range []string{"", "0.0@task:20", "0.1@task:50", "0.2@task:70"} {
		with := []setup{comparing(2)}
		if kill != "" {
			with = append(with, killed(t, kill))
		}
		g := newGroup(t, 3, with...)
		apart, _ := judging(g)
		all := safeRounds(g, 5, sched.Adaptive)
		require.Empty(t, apart())
		sum := int64(0)
		for _, r := range g.survivors() {
			require.NoError(t, r.err)
			require.Equal(t, serial(5), all[r])
			require.Empty(t, r.engine.Snapshot().Corruption.Blames)
			sum += r.engine.Snapshot().Corruption.Compared
		}
		if kill == "" {
			require.EqualValues(t, 2, sum)
		}
	}
}

// A replica has diverged if its program returns without a safe point that another replica
// has reached.
func TestStateAfterTheEnd(t *testing.T) {
	g := newGroup(t, 2, comparing(1))
	g.run(func(r *replica, p *Program) error {
		if r.setup.Self.Replica == 0 {
			return nil
		}
		return p.SafePoint(nil)
	})
	require.ErrorIs(t, g.replicas[1].err, ErrDiverged)
	require.ErrorContains(t, g.replicas[1].err, "safe point 1 was reached")
}

// A flip beyond the end of the state is an error.
func TestFlipBeyondTheState(t *testing.T) {
	g := newGroup(t, 1, flipped(t, "0.0@state:0:999999999"))
	safeRounds(g, 1, sched.Adaptive)
	require.ErrorContains(t, g.replicas[0].err, "-fault flip:0.0@state:0:999999999: the registered state has 384000 bits")
}
