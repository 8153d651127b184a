package engine

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/timeline"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr"
)

// recoverable configures a rank with its first planned cut at safe point next.
func recoverable(next uint64) setup {
	return func(s *job.Setup, _ *Config) { s.Recovery, s.Next = true, next }
}

// counter is a program that counts to ten, one safe point at a time, in *at. It skips the
// initialization if it is restored.
func counter(p *Program, at *int64, pass func() error) error {
	if err := p.Protect("at", at); err != nil {
		return err
	}
	if !p.Restored() {
		*at = 0
	}
	for ; *at < 10; *at++ {
		if err := p.SafePoint(nil); err != nil {
			return err
		}
		if err := pass(); err != nil {
			return err
		}
	}
	return nil
}

// A rank takes a backup at a cut, rolls back to it on an order of the head, and finishes.
func TestBackupAndRollback(t *testing.T) {
	g := newGroup(t, 1, recoverable(3), func(s *job.Setup, _ *Config) { s.Trace = true })
	self := job.Process{}
	var said []job.ReplyKind
	g.replied = func(r *replica, answer job.Reply) {
		said = append(said, answer.Kind)
		switch answer.Kind {
		case job.ReplyDrained:
			go r.tell(job.Order{Kind: job.OrderGo, Generation: answer.Generation, Number: answer.Number,
				Plan: []job.Copy{{Source: self, Holder: job.Process{Rank: 0, Replica: 1}}}})
		case job.ReplyStored:
			go r.tell(job.Order{Kind: job.OrderComplete, Number: answer.Number})
		case job.ReplyReady:
			go r.tell(job.Order{Kind: job.OrderResume, Generation: answer.Generation, Number: answer.Number})
		}
	}
	var at int64
	runs, passes := 0, 0
	g.run(func(r *replica, p *Program) error {
		runs++
		require.Equal(t, runs > 1, p.Restored())
		return counter(p, &at, func() error {
			passes++
			if at != 7 || runs > 1 {
				return nil
			}
			r.tell(job.Order{Kind: job.OrderRollback, Generation: 1, Number: 3,
				Peers: []job.Peer{{Process: self, Incarnation: 2}}, Deals: []job.Deal{{From: self, To: self}}})
			<-p.Context.Done()
			return nil // the next safe point returns the error
		})
	})
	require.NoError(t, g.replicas[0].err)
	require.Equal(t, 2, runs)
	require.EqualValues(t, 10, at)
	require.Equal(t, 8+8, passes, "from 0 to 7, and again from 2 on")
	require.Subset(t, said, []job.ReplyKind{job.ReplyFirst, job.ReplyDrained, job.ReplyStored, job.ReplyReady})
	require.EqualValues(t, 2, g.replicas[0].engine.setup.Incarnation)
	require.EqualValues(t, 1, g.replicas[0].engine.recovering.member.Generation())

	g.replicas[0].engine.FlushTrace()
	points, steps, back := 0, make(map[string]uint64), []uint64(nil)
	for _, e := range g.replicas[0].traced {
		switch e.Kind {
		case timeline.Point:
			points++
		case timeline.Cut:
			steps[e.Name] = e.Number
		case timeline.Rollback:
			back = append(back, e.Number)
		}
	}
	require.Equal(t, 8+1+8, points, "including the error that reports the rollback")
	require.EqualValues(t, 3, steps["drain messages"])
	require.EqualValues(t, 3, steps["copy for the backup"])
	require.Equal(t, []uint64{3}, back)
}

// Another job begins with the state that was saved in a cut.
func TestFilesOfARank(t *testing.T) {
	dir := t.TempDir()
	of := checkpoint.Job{Build: "b", Arch: "a", Ranks: 1, Tasks: 16}
	g := newGroup(t, 1, recoverable(4), func(s *job.Setup, _ *Config) { s.Files = &job.Files{Dir: dir, Job: of} })
	set := checkpoint.Set{Job: of, Number: 1, Cut: 4}
	g.replied = func(r *replica, answer job.Reply) {
		switch answer.Kind {
		case job.ReplyDrained:
			go r.tell(job.Order{Kind: job.OrderGo, Number: answer.Number, Set: 1, Savers: []job.Process{r.setup.Self}})
		case job.ReplySaved:
			if answer.File != nil {
				set.Files = append(set.Files, *answer.File)
			} else {
				t.Error(answer.Text)
			}
		}
	}
	var at int64
	g.run(func(_ *replica, p *Program) error { return counter(p, &at, func() error { return nil }) })
	require.NoError(t, g.replicas[0].err)
	require.Len(t, set.Files, 1)
	require.NoError(t, set.Complete(dir))

	passes := 0
	restart := func(s *job.Setup, _ *Config) { s.Recovery, s.Restart = true, &job.Restart{Dir: dir, Set: set} }
	g = newGroup(t, 1, restart)
	g.run(func(_ *replica, p *Program) error {
		require.True(t, p.Restored())
		return counter(p, &at, func() error { passes++; return nil })
	})
	require.NoError(t, g.replicas[0].err)
	require.Equal(t, 7, passes, "from 3 on")

	set.Cut = 5
	g = newGroup(t, 1, restart)
	require.Error(t, g.replicas[0].engine.Begin(), "the file is of another safe point")
	require.NoError(t, os.RemoveAll(dir))
	g = newGroup(t, 1, restart)
	require.ErrorIs(t, g.replicas[0].engine.Begin(), os.ErrNotExist)
}

// joining returns an engine of a joiner that waits for its state.
func joining(t *testing.T) (e *Engine, released chan struct{}, joined chan error) {
	h := &replies{setUp: setUp{setup: job.Setup{Degrees: []int{2}, Self: job.Process{Replica: 1}, Incarnation: 5, Joiner: true}}}
	e = New(t.Context(), Config{Head: h})
	released, joined = make(chan struct{}), make(chan error, 1)
	go func() { joined <- e.recovering.join(released) }()
	return e, released, joined
}

func TestJoinersThatGetNoPlace(t *testing.T) {
	t.Run("released", func(t *testing.T) {
		e, released, joined := joining(t)
		close(released)
		e.changed()
		require.Equal(t, errDismissed, <-joined)
	})
	t.Run("failed", func(t *testing.T) {
		e, _, joined := joining(t)
		e.broken(errPosition)
		require.Equal(t, errPosition, <-joined)
	})
	t.Run("goes back", func(t *testing.T) {
		e, _, joined := joining(t)
		e.do(job.Order{Kind: job.OrderRollback, Generation: 1, Number: 3})
		require.ErrorIs(t, <-joined, ErrRollback)
		require.True(t, e.recovering.goesBack())
		require.Contains(t, e.explain(), "waits: ")
	})
	t.Run("the job has ended", func(t *testing.T) {
		e, _, joined := joining(t)
		e.endRun(errors.New("no more"))
		require.ErrorContains(t, <-joined, "no more")
	})
}

// A donor forgets a joiner that has died, and the state that it was going to send.
func TestDonorOfAJoinerThatDies(t *testing.T) {
	h := &replies{setUp: setUp{setup: job.Setup{Degrees: []int{2}, Incarnation: 1, Recovery: true}}}
	e := New(t.Context(), Config{Head: h})
	joiner := job.Process{Replica: 1}
	e.peerLinks.set(joiner, 4, &startable{})
	e.do(job.Order{Kind: job.OrderDonate, Process: joiner})
	e.mu.Lock()
	require.NotNil(t, e.recovering.stateFor(joiner))
	e.mu.Unlock()
	require.True(t, e.recovering.member.Due())
	e.do(job.Verdict{Epoch: 1, Process: joiner, Incarnation: 4})
	require.Empty(t, e.recovering.outbound)
	e.mu.Lock()
	defer e.mu.Unlock()
	require.NoError(t, e.recovering.donate(joiner, e.yield))
	require.NoError(t, e.recovering.transfer(joiner, e.yield))
	require.Empty(t, h.all)
}

// A head receives the report that a joiner got the whole state, before the cut or in it. A new
// head may order the same donation again. Before the cut nothing is sent, because the joiner lacks
// nothing. After the transfer in the cut the donation starts over.
func TestDonationIsAskedForAgain(t *testing.T) {
	h := &replies{setUp: setUp{setup: job.Setup{Degrees: []int{2}, Incarnation: 1, Recovery: true}}}
	e := New(t.Context(), Config{Head: h})
	joiner, link := job.Process{Replica: 1}, &tray{}
	e.peerLinks.set(joiner, 4, link)
	p, x := NewProgram(), []float64{1, 2, 3}
	require.NoError(t, p.Protect("x", &x))
	require.NoError(t, p.SafePoint(nil))
	r := e.recovering
	r.program = p
	give := func() (frames []transport.Frame) {
		e.do(job.Order{Kind: job.OrderDonate, Process: joiner})
		e.mu.Lock()
		require.NoError(t, r.donate(joiner, e.yield))
		e.mu.Unlock()
		frames, link.frames = link.frames, nil
		require.Equal(t, []job.Reply{{Kind: job.ReplyCopied, Process: joiner}}, h.all)
		h.all = nil
		return frames
	}
	first := give()
	require.Greater(t, len(first), 1)
	require.Empty(t, give(), "all of it was sent")

	e.messages.Store(sdr.NewEngine(sdr.Config{Degrees: []int{1}}))
	require.NoError(t, e.messages.Load().Drain(t.Context(), 1))
	e.mu.Lock()
	require.NoError(t, r.transfer(joiner, e.yield))
	e.mu.Unlock()
	require.Len(t, link.frames, 1, "only the last frame is missing")
	require.Equal(t, frameEnd, link.frames[0].Header.Kind)
	link.frames = nil

	again := give()
	require.Len(t, again, len(first))
	require.Equal(t, transferIDOf(&first[0].Header).stream+1, transferIDOf(&again[0].Header).stream, "a state of its own")
	for i := range first {
		require.Equal(t, first[i].Header.Kind, again[i].Header.Kind)
		require.Equal(t, first[i].Payload, again[i].Payload)
	}
}

// Handled implements Head.
func (h *replies) Handled(uint64) {}

// A process without a copy of a backup cannot send it.
func TestBackupThatIsNotHere(t *testing.T) {
	self, other := job.Process{}, job.Process{Rank: 1}
	h := &replies{setUp: setUp{setup: job.Setup{Degrees: []int{1, 1}, Incarnation: 1, Recovery: true}}}
	e := New(t.Context(), Config{Head: h})
	back := job.Order{Kind: job.OrderRollback, Generation: 1, Number: 3, Deals: []job.Deal{{From: other, To: other}, {From: self, To: self}}}
	require.NoError(t, e.recovering.giveBack(back), "no process needs a state of this one")
	back.Deals = append(back.Deals, job.Deal{From: self, To: other})
	require.ErrorIs(t, e.recovering.giveBack(back), errNoCopy)
	e.recovering.renew(job.Order{Rank: 1, Number: 3, Process: other})
	require.Zero(t, e.recovering.streams)
	require.ErrorContains(t, e.recovering.step(recovery.Step{Kind: 99}, 0, e.yield), "unknown step")
}

// An explanation of a wait does not wait forever itself.
func TestExplainWhileTheLockIsHeld(t *testing.T) {
	text, ok := within(time.Hour, func() string { return "here" })
	require.True(t, ok)
	require.Equal(t, "here", text)
	never := make(chan struct{})
	defer close(never)
	_, ok = within(time.Millisecond, func() string { <-never; return "" })
	require.False(t, ok)

	e := New(t.Context(), Config{Head: &setUp{setup: job.Setup{Degrees: []int{1}, Incarnation: 1}}})
	require.Contains(t, e.explain(), "waits: a joiner without a slot")
	e.messages.Store(nil)
	e.mu.Lock()
	e.fail(fmt.Errorf("a reason"))
	e.mu.Unlock()
	require.Contains(t, e.explain(), "waits: every section fails: a reason")
}
