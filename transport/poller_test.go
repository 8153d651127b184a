package transport_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
)

// plainLink counts the calls of a poller.
type plainLink struct {
	transport.Link // nil: the poller uses no other method
	attended       atomic.Int32
	changes        atomic.Int32 // calls of Attend(true)
	polls          atomic.Int32
	moves          atomic.Int32 // polls that still report movement
	onMove         func()
}

func (l *plainLink) Attend(on bool) {
	if on {
		l.attended.Add(1)
		l.changes.Add(1)
	} else {
		l.attended.Add(-1)
	}
}

func (l *plainLink) Progress() bool {
	l.polls.Add(1)
	if l.moves.Load() <= 0 {
		return false
	}
	l.moves.Add(-1)
	if l.onMove != nil {
		l.onMove()
	}
	return true
}

// turningLink counts the calls of TakeTurns.
type turningLink struct {
	plainLink
	turns int
}

func (l *turningLink) TakeTurns() { l.turns++ }

func TestPollerReportsTurnsToLinks(t *testing.T) {
	for processes, calls := range map[int]int{1: 0, 1 << 20: 1} {
		p := transport.NewPoller()
		p.Crowd(processes, nil)
		l := new(turningLink)
		p.Add(l)
		p.Add(new(plainLink))
		require.Equal(t, calls, l.turns, "%d processes", processes)
	}
}

func TestPollerPollsEveryLink(t *testing.T) {
	p := transport.NewPoller()
	require.False(t, p.Poll())
	a, b := new(plainLink), new(plainLink)
	p.Add(a)
	p.Add(b)
	require.False(t, p.Poll())
	a.moves.Store(1)
	require.True(t, p.Poll())
	require.EqualValues(t, 2, b.polls.Load())
	p.Remove(a)
	p.Remove(a) // Remove has no effect for a link that was removed before
	p.Poll()
	require.EqualValues(t, 2, a.polls.Load())
	require.EqualValues(t, 3, b.polls.Load())
}

func TestPollerConditionTrueAtOnce(t *testing.T) {
	p := transport.NewPoller()
	l := new(plainLink)
	p.Add(l)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, p.Wait(ctx, func() bool { return true }), "a condition that holds comes before the context")
	require.Zero(t, l.polls.Load())
}

// A frame that one round of polling delivers ends the wait, without a Wake.
func TestPollerSeesWhatItMoved(t *testing.T) {
	for _, moves := range []int32{1, 2, 1000} {
		p := transport.NewPoller()
		var moved atomic.Int32
		l := &plainLink{onMove: func() { moved.Add(1) }}
		l.moves.Store(moves)
		p.Add(l)
		require.NoError(t, p.Wait(t.Context(), func() bool { return moved.Load() == moves }))
	}
}

// arrivals lets n waits succeed, each in its second poll.
func arrivals(t *testing.T, p *transport.Poller, l *plainLink, n int) {
	for range n {
		polls := l.polls.Load()
		require.NoError(t, p.Wait(t.Context(), func() bool { return l.polls.Load() >= polls+2 }))
	}
}

// Attention outlasts a successful wait, and the next wait does not call Attend again. The
// attention ends some time after the last wait.
func TestPollerAttentionLingers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, l := transport.NewPoller(), new(plainLink)
		p.Add(l)
		for range 3 {
			before := l.changes.Load()
			arrivals(t, p, l, 1000)
			require.EqualValues(t, 1, l.attended.Load())
			require.Equal(t, before+1, l.changes.Load())
			time.Sleep(3 * time.Millisecond) // stands for computation
			require.Zero(t, l.attended.Load())
		}
	})
}

// A goroutine that sleeps depends on the links' own progress, even if waits of other goroutines
// have succeeded.
func TestPollerSleeperEndsAttention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, l := transport.NewPoller(), new(plainLink)
		p.Add(l)
		var done atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() { p.Wait(t.Context(), done.Load) })
		time.Sleep(time.Millisecond)
		synctest.Wait() // the goroutine sleeps now
		arrivals(t, p, l, 10)
		require.Zero(t, l.attended.Load())
		done.Store(true)
		p.Wake()
		wg.Wait()
	})
}

// A promise and a wait overlap in any order.
func TestPollerPromiseBesideWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, l := transport.NewPoller(), new(plainLink)
		p.Add(l)
		p.Attend(true)
		arrivals(t, p, l, 10)
		time.Sleep(10 * time.Millisecond)
		require.EqualValues(t, 1, l.attended.Load(), "promised")
		p.Attend(false)
		require.Zero(t, l.attended.Load(), "no wait used the attention")
		p.Attend(true)
		polls := l.polls.Load()
		require.NoError(t, p.Wait(t.Context(), func() bool {
			if l.polls.Load() == polls+2 {
				p.Attend(false) // by another goroutine
			}
			return l.polls.Load() > polls+2
		}))
		require.EqualValues(t, 1, l.attended.Load(), "somebody polled")
		time.Sleep(10 * time.Millisecond)
		require.Zero(t, l.attended.Load())
	})
}

func TestPollerDeadlineAndContext(t *testing.T) {
	p := transport.NewPoller()
	l := new(plainLink)
	p.Add(l)
	never := func() bool { return false }
	require.NoError(t, p.WaitUntil(t.Context(), time.Now().Add(-time.Second), never))
	require.NoError(t, p.WaitUntil(t.Context(), time.Now().Add(time.Millisecond), never))
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, p.Wait(ctx, never), context.DeadlineExceeded)
	require.ErrorIs(t, p.WaitUntil(ctx, time.Now().Add(time.Hour), never), context.DeadlineExceeded)
	require.Zero(t, l.attended.Load(), "attention ends with the wait")
}

// In a synctest bubble the test can wait until all waiters sleep.
func TestPollerWakeReachesEverySleeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := transport.NewPoller()
		p.Wake() // wakes no goroutine
		l := new(plainLink)
		var state atomic.Int32
		var wg sync.WaitGroup
		var through atomic.Int32
		for i := range int32(5) {
			wg.Go(func() {
				err := p.Wait(t.Context(), func() bool { return state.Load() > i })
				if err != nil {
					t.Errorf("waiter %d: %v", i, err)
				}
				through.Add(1)
			})
		}
		p.Add(l)
		for i := range int32(5) {
			// The fake clock advances only when all goroutines are blocked. So the test
			// sleeps for as long as the waiters poll.
			time.Sleep(time.Second)
			synctest.Wait()
			require.Equal(t, i, through.Load())
			require.Zero(t, l.attended.Load(), "sleepers do not attend")
			state.Store(i + 1)
			p.Wake()
		}
		wg.Wait()
	})
}

// No wake-up is lost, whatever the moment at which the state changes.
func TestPollerLosesNoWake(t *testing.T) { testLosesNoWake(t, 0) }

// No wake-up is lost if waiters yield their core.
func TestCrowdedPollerLosesNoWake(t *testing.T) { testLosesNoWake(t, 1<<20) }

func testLosesNoWake(t *testing.T, processes int) {
	const rounds = 20000
	ping, pong := transport.NewPoller(), transport.NewPoller()
	ping.Crowd(processes, nil)
	pong.Crowd(processes, nil)
	var a, b atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range int64(rounds) {
			if err := pong.Wait(t.Context(), func() bool { return a.Load() > i }); err != nil {
				t.Error(err)
			}
			b.Add(1)
			ping.Wake()
		}
	})
	for i := range int64(rounds) {
		a.Add(1)
		pong.Wake()
		require.NoError(t, ping.Wait(t.Context(), func() bool { return b.Load() > i }))
	}
	wg.Wait()
}

// Links may be added and removed during waits. At the end they have attention exactly while
// a goroutine polls.
func TestPollerAttendsLinksAddedDuringWaits(t *testing.T) {
	p := transport.NewPoller()
	links := make([]*plainLink, 20)
	var stop atomic.Bool
	var waiters, changers sync.WaitGroup
	for range 2 {
		waiters.Go(func() {
			for !stop.Load() {
				p.WaitUntil(t.Context(), time.Now().Add(50*time.Microsecond), func() bool { return false })
			}
		})
	}
	for i := range links {
		links[i] = new(plainLink)
		changers.Go(func() {
			for range 200 {
				p.Add(links[i])
				p.Poll()
				p.Remove(links[i])
			}
		})
	}
	changers.Wait()
	stop.Store(true)
	waiters.Wait()
	for _, l := range links {
		require.Zero(t, l.attended.Load())
	}
}

// Lingering attention saves the links calls of Attend(false) and Attend(true). It ends when
// no goroutine renews it, or when a waiter falls asleep.
func TestPollerLinger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := transport.NewPoller()
		l := new(plainLink)
		p.Add(l)
		for range 10 {
			p.Attend(true)
			p.Linger()
			require.EqualValues(t, 1, l.attended.Load())
			time.Sleep(100 * time.Microsecond)
		}
		time.Sleep(10 * time.Millisecond)
		require.Zero(t, l.attended.Load(), "no goroutine has renewed the attention")

		p.Attend(true)
		p.Linger()
		done := make(chan error)
		var arrived atomic.Bool
		go func() { done <- p.Wait(t.Context(), arrived.Load) }()
		synctest.Wait()
		require.Zero(t, l.attended.Load(), "attention ends while a waiter sleeps")
		p.Attend(true)
		require.EqualValues(t, 1, l.attended.Load())
		p.Linger()
		require.Zero(t, l.attended.Load(), "the waiter still sleeps")
		arrived.Store(true)
		p.Wake()
		require.NoError(t, <-done)
	})
}

// A waiter that attends is woken from its sleep, and renews its promise.
func TestPollerWaitAttending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := transport.NewPoller()
		l := new(plainLink)
		p.Add(l)
		p.Attend(true)
		var arrived atomic.Bool
		done := make(chan error)
		go func() { done <- p.WaitAttending(t.Context(), time.Time{}, arrived.Load) }()
		synctest.Wait()
		require.Zero(t, l.attended.Load())
		arrived.Store(true)
		p.Wake()
		require.NoError(t, <-done)
		require.EqualValues(t, 1, l.attended.Load())
		p.Attend(false)
		require.Zero(t, l.attended.Load())
	})
}

// LookFor sees frames that arrive while it looks, and stops looking when none
// arrives.
func TestLookForSeesFramesThatArriveSoon(t *testing.T) {
	p, link := transport.NewPoller(), new(plainLink)
	p.Add(link)
	p.Attend(true)
	defer p.Attend(false)
	came := false
	require.False(t, p.LookFor(t.Context(), time.Millisecond, func() bool { return came }))
	link.onMove = func() { came = true }
	link.moves.Store(1)
	require.True(t, p.Poll())
	require.True(t, p.LookFor(t.Context(), 0, func() bool { return came }))
	came = false
	link.moves.Store(1)
	if runtime.NumCPU() > 1 && runtime.GOMAXPROCS(0) > 1 { // otherwise no frame can arrive while LookFor polls
		require.True(t, p.LookFor(t.Context(), time.Second, func() bool { return came }))
	}
}
