package sdr

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
)

// holding is a link that keeps frames in memory of the program until a wait begins.
type holding struct {
	transport.Link
	frames []*transport.Frame
}

func (l *holding) Send(f *transport.Frame) { l.frames = append(l.frames, f) }

func (l *holding) Wait(_ context.Context, done func() bool) error {
	if done() {
		return nil
	}
	for _, f := range l.frames {
		f.Owner.Sent(f, nil)
	}
	l.frames = nil
	if !done() {
		return errors.New("no other message arrives")
	}
	return nil
}

func (l *holding) Wake() {}

// TestAbortReleasesMemory: a process that does not know of the rollback yet takes frames
// under way for messages. So these frames must hold the bytes that were sent, even if the
// program overwrites its memory once a call has returned the error.
func TestAbortReleasesMemory(t *testing.T) {
	errBack := errors.New("back")
	for name, call := range map[string]func(e *Engine, r *Call) error{
		"wait": func(e *Engine, r *Call) error { _, err := e.Wait(r); return err },
		"wait for any": func(e *Engine, _ *Call) error {
			return e.WaitFor(func() bool { return false }, nil, nil)
		},
		"another call": func(e *Engine, _ *Call) error { return e.Over() },
	} {
		t.Run(name, func(t *testing.T) {
			link := new(holding)
			e := NewEngine(Config{Degrees: []int{1, 1}, Poller: link, Link: func(int, int) transport.Link { return link }})
			r := e.NewBlockingCall()
			ctx, err := e.Join(1, 1, false, nil)
			require.NoError(t, err)
			require.NoError(t, e.Over())
			e.Send(ctx, &r.Request, []byte("the frame holds the bytes that were sent"), 1, 0, false)
			require.Len(t, link.frames, 1)
			e.Abort(errBack)
			require.ErrorIs(t, call(e, r), errBack)
			require.Empty(t, link.frames, "a link still reads memory of the program")
		})
	}
}

// slow is a link whose Send hands a frame over, but does not return before the test allows
// it.
type slow struct {
	transport.Link
	entered, handOver, leave chan struct{}
}

func (l *slow) Send(f *transport.Frame) {
	close(l.entered)
	<-l.handOver
	f.Owner.Sent(f, nil)
	<-l.leave
}

// sleepy is a Waiter that reports when it goes to sleep.
type sleepy struct{ asleep, wake chan struct{} }

func (w *sleepy) Wait(_ context.Context, done func() bool) error {
	for !done() {
		w.asleep <- struct{}{}
		select {
		case <-w.wake:
		case <-time.After(20 * time.Second):
			return errors.New("no goroutine wakes the waiter")
		}
	}
	return nil
}

func (w *sleepy) Wake() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// TestReleasedIsWoken: a goroutine that hands frames to links wakes the goroutine in
// Released. The latter notices when the last link releases memory.
func TestReleasedIsWoken(t *testing.T) {
	w := &sleepy{make(chan struct{}, 10), make(chan struct{}, 1)}
	link := &slow{entered: make(chan struct{}), handOver: make(chan struct{}), leave: make(chan struct{})}
	e := NewEngine(Config{Degrees: []int{1, 1}, Poller: w, Link: func(int, int) transport.Link { return link }})
	ctx, err := e.Join(1, 1, false, nil)
	require.NoError(t, err)
	go e.Send(ctx, &e.NewBlockingCall().Request, []byte("message"), 1, 0, false)
	<-link.entered
	e.Abort(errors.New("back"))
	for len(w.wake) > 0 {
		<-w.wake
	}
	released := make(chan error)
	go func() { released <- e.Released(context.Background()) }()
	<-w.asleep
	close(link.handOver)
	<-w.asleep // the waiter is awake, but Send of the link has not returned
	close(link.leave)
	require.NoError(t, <-released)
}
