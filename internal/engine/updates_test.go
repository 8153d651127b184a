package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// lender is a link that lends room, and keeps what is sent.
type lender struct {
	startable
	room            []byte // nil: it has none
	sent, committed []*transport.Frame
	cancelled       int
}

func (l *lender) Reserve(n int) []byte {
	if l.room == nil {
		return nil
	}
	return l.room[:n]
}

func (l *lender) Commit(f *transport.Frame) { l.committed = append(l.committed, f) }
func (l *lender) Cancel()                   { l.cancelled++ }
func (l *lender) Send(f *transport.Frame)   { l.sent = append(l.sent, f) }

// lent is an engine with a peer that lends room, in a section of two tasks with
// so many bytes each.
func lent(t *testing.T, l *lender, bytes int, change func(s *Section, setup *job.Setup)) (*Engine, *Section) {
	t.Helper()
	setup := job.Setup{Degrees: []int{2}, Incarnation: 1}
	s := &Section{Policy: sched.Static, Guard: func(_ *Task, body func()) { body() }}
	for range 2 {
		r := update.Slice(update.Out, "w", make([]byte, bytes))
		r.Fused = func(second []byte) { copy(second, "fused") }
		s.Tasks = append(s.Tasks, Task{Kernel: kernelAdd, Regions: []update.Region{r}})
	}
	change(s, &setup)
	e := New(t.Context(), Config{Head: &setUp{setup: setup}, Share: true, Links: map[job.Process]transport.Link{{Replica: 1}: l}})
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open = s
	require.NoError(t, e.enter(s))
	return e, s
}

func TestRoomForFusedStores(t *testing.T) {
	const bytes = 2 * large
	same := func(*Section, *job.Setup) {}
	for name, c := range map[string]struct {
		room, bytes int
		change      func(*Section, *job.Setup)
		lends       bool
	}{
		"lent":            {bytes, bytes, same, true},
		"no room":         {0, bytes, same, false},
		"small":           {bytes, large - 1, same, false},
		"replicated":      {bytes, bytes, func(s *Section, _ *job.Setup) { s.Policy = sched.Replicate }, false},
		"several workers": {bytes, bytes, func(_ *Section, j *job.Setup) { j.Threads = 2 }, false},
		"checked":         {bytes, bytes, func(s *Section, _ *job.Setup) { s.Agree = func() error { return nil } }, false},
		"no second body": {bytes, bytes, func(s *Section, _ *job.Setup) {
			for i := range s.Tasks {
				s.Tasks[i].Regions[0].Fused = nil
			}
		}, false},
		"another region": {bytes, bytes, func(s *Section, _ *job.Setup) {
			s.Tasks[0].Regions = append(s.Tasks[0].Regions, update.Slice(update.Out, "v", make([]byte, 8)))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := &lender{}
			if c.room > 0 {
				l.room = make([]byte, c.room)
			}
			e, s := lent(t, l, c.bytes, c.change)
			w := &e.workers[0]
			fused := s.exchange.reserve(w, s, &s.Tasks[0])
			require.Equal(t, c.lends, fused != nil)
			require.Equal(t, c.lends, w.lent.link != nil)
			if c.lends {
				fused(w.lent.mem)
				require.Equal(t, "fused", string(l.room[:5]))
			}
		})
	}
}

// The update of a task leaves from the room in which it was made, and the claim
// of the next task with it.
func TestUpdateLeavesFromItsRoom(t *testing.T) {
	l := &lender{room: make([]byte, 2*large)}
	e, s := lent(t, l, 2*large, func(s *Section, _ *job.Setup) { s.Policy = sched.Adaptive })
	w := &e.workers[0]
	e.mu.Lock()
	defer e.mu.Unlock()
	first, err := s.exchange.next(w, s)
	require.NoError(t, err)
	require.Equal(t, runTask, first.kind)
	require.Len(t, w.out, 1, "a claim")
	e.unlocked(w.flush)
	require.Len(t, l.sent, 1)
	e.unlocked(func() { s.exchange.reserve(w, s, &s.Tasks[first.task]) })
	s.exchange.ran(w, s, first.task)
	require.Nil(t, w.lent.link, "it is used")
	second, err := s.exchange.next(w, s)
	require.NoError(t, err)
	require.Len(t, w.out, 1, "the claim goes with the update")
	e.unlocked(w.flush)
	require.Len(t, l.committed, 1)
	m, err := update.ParseMessage(&l.committed[0].Header)
	require.NoError(t, err)
	require.Equal(t, []int{first.task, second.task + 1}, []int{m.Task, m.Next})
	require.EqualValues(t, 1, e.pending.Load())

	e.unlocked(func() { l.committed[0].Owner.Sent(l.committed[0], nil) })
	require.Zero(t, e.pending.Load())

	// Nobody wants an update of a dead peer.
	e.unlocked(func() { s.exchange.reserve(w, s, &s.Tasks[second.task]) })
	e.sharing.dead(job.Process{Replica: 1})
	s.exchange.ran(w, s, second.task)
	require.Empty(t, w.out)
	e.unlocked(w.deliver)
	require.Equal(t, 1, l.cancelled)
	last, err := s.exchange.next(w, s)
	require.NoError(t, err)
	require.Equal(t, allHere, last.kind)
}

// A body that does not return gives its room back.
func TestRoomOfABodyThatPanics(t *testing.T) {
	l := &lender{room: make([]byte, 2*large)}
	e, s := lent(t, l, 2*large, func(s *Section, _ *job.Setup) {
		for i := range s.Tasks {
			s.Tasks[i].Regions[0].Fused = func([]byte) { panic("too much") }
		}
	})
	w := &e.workers[0]
	w.begin(s, 0)
	require.PanicsWithValue(t, "too much", func() { w.body(s) })
	require.Equal(t, 1, l.cancelled)
	require.True(t, w.inBody)
}

// Frames that have been handed over are used again.
func TestSentFrames(t *testing.T) {
	l := &lender{}
	e, s := lent(t, l, 64, func(*Section, *job.Setup) {})
	w := &e.workers[0]
	w.entered(s)
	w.flush()
	require.Len(t, l.sent, 1)
	f := l.sent[0]
	m, err := update.ParseMessage(&f.Header)
	require.NoError(t, err)
	require.Equal(t, update.KindEntered, m.Kind)
	require.Equal(t, 2, m.Tasks)
	f.Owner.Sent(f, transport.ErrPeerGone)
	require.Nil(t, f.Owner)
	require.Empty(t, f.Payload)
}
