package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// collector is a link that keeps the frames sent.
type collector struct {
	startable
	sent []*transport.Frame
}

func (l *collector) Send(f *transport.Frame) { l.sent = append(l.sent, f) }

// engineWith returns an engine with one peer, in a section of two tasks with updates of that
// many bytes.
func engineWith(t *testing.T, l *collector, bytes int, policy sched.Policy) (*Engine, *Section) {
	t.Helper()
	s := &Section{Policy: policy, Guard: func(_ *Task, body func()) { body() }}
	for range 2 {
		s.Tasks = append(s.Tasks, Task{Kernel: kernelAdd, Regions: []update.Region{update.Slice(update.Out, "w", make([]byte, bytes))}})
	}
	e := New(t.Context(), Config{Head: &setUp{setup: job.Setup{Degrees: []int{2}, Incarnation: 1}}, Share: true,
		Links: map[job.Process]transport.Link{{Replica: 1}: l}})
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open = s
	require.NoError(t, e.enter(s))
	return e, s
}

// The claim of the next task is sent with the update of the last one.
func TestClaimLeavesWithUpdate(t *testing.T) {
	l := &collector{}
	e, s := engineWith(t, l, 2*large, sched.Adaptive)
	w := &e.workers[0]
	e.mu.Lock()
	defer e.mu.Unlock()
	first, err := s.exchange.next(w, s)
	require.NoError(t, err)
	require.Equal(t, runTask, first.kind)
	require.Len(t, w.out, 1, "a claim")
	e.unlocked(w.flush)
	require.Len(t, l.sent, 1)
	s.exchange.ran(w, s, first.task)
	second, err := s.exchange.next(w, s)
	require.NoError(t, err)
	require.Len(t, w.out, 1, "the claim goes with the update")
	e.unlocked(w.flush)
	require.Len(t, l.sent, 2)
	m, err := update.ParseMessage(&l.sent[1].Header)
	require.NoError(t, err)
	require.Equal(t, []int{first.task, second.task + 1}, []int{m.Task, m.Next})
	require.EqualValues(t, 1, e.pending.Load())

	e.unlocked(func() { l.sent[1].Owner.Sent(l.sent[1], nil) })
	require.Zero(t, e.pending.Load())

	// No update is sent to a dead peer.
	e.sharing.dead(job.Process{Replica: 1})
	s.exchange.ran(w, s, second.task)
	require.Empty(t, w.out)
	last, err := s.exchange.next(w, s)
	require.NoError(t, err)
	require.Equal(t, allHere, last.kind)
}

// Frames that were handed over are reused.
func TestSentFrames(t *testing.T) {
	l := &collector{}
	e, s := engineWith(t, l, 64, sched.Static)
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
