package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport/sdr"
)

// standing is a head that does not roll back: it makes processes fail as soon as they
// report a dispute.
func standing(g *group, then func()) {
	g.onReport = func(r *replica, st job.Stats) {
		if st.Corruption == nil || st.Corruption.Dispute == nil {
			return
		}
		r.engine.mu.Lock()
		r.engine.recovering.fail(job.Order{Kind: job.OrderFail})
		r.engine.mu.Unlock()
		then()
	}
}

func withBackups(s *job.Setup, _ *Config) {
	s.Verify = &job.Verification{Share: 0.01, Seed: 7, Backups: true}
}

var wrongMessage = &sdr.Difference{To: 1, Number: 3, Sent: []sdr.Sent{{Replica: 0, Hash: 1}, {Replica: 1, Hash: 2}}}

// A process for which the job does not roll back reports its error, even if the head makes
// it fail at once.
func TestAWrongMessageStands(t *testing.T) {
	g := newGroup(t, 2, withBackups)
	standing(g, func() { time.Sleep(50 * time.Millisecond) }) // the program has ended before the head decides
	g.run(func(r *replica, p *Program) error {
		if r != g.replicas[0] {
			return nil
		}
		go r.engine.messageDiffers(wrongMessage)
		<-p.Context.Done()
		return context.Cause(p.Context)
	})
	require.ErrorIs(t, g.replicas[0].err, ErrCorrupt)
	require.NoError(t, g.replicas[1].err)
}

// A wrong message is attributed to the incarnation that sent it, even if another process
// is in its slot by now.
func TestAWrongMessageBelongsToAnIncarnation(t *testing.T) {
	g := newGroup(t, 3, withBackups)
	standing(g, func() {})
	g.run(func(r *replica, p *Program) error {
		if r != g.replicas[0] {
			return nil
		}
		r.engine.messageDiffers(&sdr.Difference{To: 1, Number: 3, Sent: []sdr.Sent{
			{Replica: 0, Incarnation: 1, Hash: 1}, {Replica: 1, Incarnation: 1, Hash: 1}, {Replica: 2, Incarnation: 7, Hash: 2}}})
		<-p.Context.Done()
		return context.Cause(p.Context)
	})
	require.Equal(t, []job.Blame{{Process: job.Process{Replica: 2}, Incarnation: 7, Core: -1, Task: -1, Message: "message 3 to rank 1"}},
		g.replicas[0].engine.verifier.counts.Blames)
}

// A process whose program has returned also reports its error: other processes may wait
// for operations that it no longer makes.
func TestAWrongMessageStandsAfterTheEnd(t *testing.T) {
	g := newGroup(t, 2, withBackups)
	standing(g, func() {})
	until := func(cond func() bool) bool {
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			g.mu.Lock()
			ok := cond()
			g.mu.Unlock()
			if ok {
				return true
			}
		}
		return false
	}
	first := g.replicas[0]
	g.run(func(r *replica, _ *Program) error {
		if r == first {
			return nil
		}
		if !until(func() bool { return first.finished }) {
			return errors.New("the first replica has not finished")
		}
		first.engine.messageDiffers(wrongMessage)
		if !until(func() bool { return first.dead }) {
			return errors.New("the first replica waits to be released")
		}
		return nil
	})
	require.NoError(t, g.replicas[1].err)
	require.ErrorIs(t, first.err, ErrCorrupt)
}
