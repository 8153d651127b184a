package sdr

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAwaited(t *testing.T) {
	n := newNet(t, Limits{Eager: 8}, 2, 1, 1)
	me := n.p(1, 0)
	awaited := func(r *Request) Awaited { return n.cores[me].finishing.Awaited(r) }

	// A message that was offered to the receive and requested makes progress.
	large := n.recv(me, 2, 6)
	n.send(n.p(2, 0), "a large one", 1, 6)
	n.deliver(n.p(2, 0), me)
	require.Equal(t, Awaited{Ranks: []int{2}, Tag: 6, Tagged: true, Moving: true}, awaited(&large.Request))

	require.Equal(t, Awaited{Ranks: []int{0}, Tag: 3, Tagged: true}, awaited(&n.recv(me, 0, 3).Request))
	require.Equal(t, Awaited{Ranks: []int{0, 2}, One: true, Tag: Any, Tagged: true}, awaited(&n.recv(me, Any, Any).Request))
	require.Equal(t, Awaited{Ranks: []int{2}, Tag: 4, Tagged: true}, awaited(n.ssend(me, "x", 2, 4)))
	require.Equal(t, Awaited{Ranks: []int{2}, Tag: 5, Tagged: true}, awaited(n.send(me, "a large one", 2, 5)))
	require.True(t, awaited(new(Request)).Moving, "the receive is complete")
}

// sleeper is a Waiter that reports every sleep as long.
type sleeper struct{ *bell }

func (s sleeper) WaitFor(ctx context.Context, _ time.Duration, done func() bool) error {
	if !done() {
		time.Sleep(time.Millisecond)
	}
	return ctx.Err()
}

// A call that has waited for long is listed while it waits, but not afterwards.
func TestStalls(t *testing.T) {
	e := NewEngine(Config{Degrees: []int{1}, Poller: sleeper{newBell()}})
	ctx, err := e.Join(testContext, testContext, false, nil)
	require.NoError(t, err)
	stalls, completed := e.Stalls()
	require.Empty(t, stalls)
	require.Zero(t, completed)

	received := make(chan error)
	go func() {
		r := e.NewBlockingCall()
		e.Recv(ctx, &r.Request, make([]byte, 1), 0, 7)
		_, err := e.Wait(r)
		received <- err
	}()
	require.Eventually(t, func() bool { stalls, _ = e.Stalls(); return len(stalls) == 1 }, time.Minute, time.Millisecond)
	require.Equal(t, Awaited{Ranks: []int{0}, Tag: 7, Tagged: true}, stalls[0].Awaited)
	e.Send(ctx, new(Request), []byte("x"), 0, 7, false)
	require.NoError(t, <-received)
	stalls, completed = e.Stalls()
	require.Empty(t, stalls)
	require.EqualValues(t, 2, completed)

	done := make(chan struct{})
	var asked, over bool
	go func() {
		defer close(done)
		_ = e.WaitFor(func() bool { return over }, nil, func() Awaited { over, asked = true, true; return Awaited{One: true} })
	}()
	<-done
	require.True(t, asked)
	stalls, _ = e.Stalls()
	require.Empty(t, stalls)
}
