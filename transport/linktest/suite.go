package linktest

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
)

// Pair makes the two ends of a new link, not started.
type Pair func(t testing.TB) (a, b transport.Link)

// A frame of this size is larger than what a link under test may hold back
// until it is whole.
const streamed = 5 << 20

// patience bounds waiting for what has to come; only a hang reaches it.
const patience = 60 * time.Second

// Run tests links made by pair.
func Run(t *testing.T, pair Pair) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, pair Pair)
	}{
		{"Sizes", testSizes},
		{"ConcurrentSenders", testConcurrentSenders},
		{"BothFull", testBothFull},
		{"Echo", testEcho},
		{"Mid", testMid},
		{"MidBreaks", testMidBreaks},
		{"MidBreaksSmall", testMidBreaksSmall},
		{"DeathBetweenFrames", testDeathBetweenFrames},
		{"CloseReturnsFrames", testCloseReturnsFrames},
		{"CloseFromReceiver", testCloseFromReceiver},
		{"PeerDiedDrains", testPeerDiedDrains},
		{"PeerDiedInsideFrame", testPeerDiedInsideFrame},
		{"Shutdown", testShutdown},
		{"ShutdownOneSideFirst", testShutdownOneSideFirst},
		{"ShutdownGivesUp", testShutdownGivesUp},
		{"AttentionComesAndGoes", testAttentionComesAndGoes},
		{"LoneFrames", testLoneFrames},
		{"Poller", testPoller},
		{"CloseWithoutStart", testCloseWithoutStart},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			test.run(t, pair)
			eventually(t, "all goroutines ended", func() bool { return runtime.NumGoroutine() <= before })
		})
	}
}

// eventually waits until cond holds.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(200 * time.Microsecond) {
		if time.Now().After(end) {
			buf := make([]byte, 1<<20)
			t.Fatalf("never came: %s\n%s", what, buf[:runtime.Stack(buf, true)])
		}
	}
}

// side is one end under test.
type side struct {
	transport.Link
	*recorder
	owners *owners
}

// send queues a frame and keeps track of it.
func (s *side) send(f *transport.Frame) *transport.Frame {
	s.owners.left.Add(1)
	f.Owner = s.owners
	s.Send(f)
	return f
}

// settled waits until every frame sent has come back, and checks that each
// did once.
func (s *side) settled(t testing.TB) {
	t.Helper()
	eventually(t, "all frames back with their owner", func() bool { return s.owners.left.Load() <= 0 })
	s.owners.mu.Lock()
	defer s.owners.mu.Unlock()
	for f, n := range s.owners.sent {
		require.Equal(t, 1, n, "calls of Sent for frame %d", f.Header.Args[argNumber])
	}
}

// gone waits for Closed and checks its error.
func (s *side) gone(t testing.TB, want error) {
	t.Helper()
	eventually(t, "Closed", func() bool {
		select {
		case <-s.closed:
			return true
		default:
			return false
		}
	})
	if want == nil {
		require.NoError(t, s.closeErr)
	} else {
		require.ErrorIs(t, s.closeErr, want)
	}
}

// sound checks that the recorder found nothing wrong.
func (s *side) sound(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(t, s.faults)
}

func start(l transport.Link, r *recorder) *side {
	s := &side{Link: l, recorder: r, owners: newOwners()}
	l.Start(r)
	return s
}

func startBoth(t testing.TB, pair Pair, p place) (a, b *side) {
	la, lb := pair(t)
	return start(la, newRecorder(p)), start(lb, newRecorder(p))
}

// closeBoth ends a test: nothing may be left behind.
func closeBoth(t testing.TB, sides ...*side) {
	t.Helper()
	for _, s := range sides {
		require.NoError(t, s.Close())
	}
	for _, s := range sides {
		eventually(t, "Closed", func() bool {
			select {
			case <-s.closed:
				return true
			default:
				return false
			}
		})
		s.settled(t)
		s.sound(t)
	}
}

// poll attends to a link and drives it until stop.
func poll(l transport.Link, stop *atomic.Bool, wg *sync.WaitGroup) {
	l.Attend(true)
	wg.Go(func() {
		defer l.Attend(false)
		for !stop.Load() {
			if !l.Progress() {
				runtime.Gosched()
			}
		}
	})
}

var sizes = []int{0, 1, 7, 8, 63, 64, 65, 1000, 4095, 4096, 4097, 65471, 65472, 65536, 70001, 1 << 20, streamed}

func testSizes(t *testing.T, pair Pair) {
	for _, attended := range []bool{false, true} {
		for _, p := range []place{placeOwn, placeLink, placeEither} {
			t.Run(fmt.Sprintf("attended=%v/place=%d", attended, p), func(t *testing.T) {
				a, b := startBoth(t, pair, p)
				var stop atomic.Bool
				var wg sync.WaitGroup
				if attended {
					poll(a, &stop, &wg)
					poll(b, &stop, &wg)
				}
				number := 0
				for pieces := 1; pieces <= 5; pieces += 2 {
					for _, size := range sizes {
						a.send(newFrame(1, number, size, pieces, nil))
						b.send(newFrame(2, number, size, pieces, nil))
						number++
					}
				}
				for _, s := range []*side{a, b} {
					eventually(t, "all frames", func() bool { return s.count() == number })
					s.settled(t)
					require.Equal(t, number, s.owners.handedOver())
				}
				stop.Store(true)
				wg.Wait()
				closeBoth(t, a, b)
			})
		}
	}
}

func testConcurrentSenders(t *testing.T, pair Pair) {
	const senders, frames = 4, 150
	a, b := startBoth(t, pair, placeEither)
	var wg sync.WaitGroup
	for id := range senders {
		for _, s := range []*side{a, b} {
			wg.Go(func() {
				for n := range frames {
					s.send(newFrame(id, n, (n*n*37+id)%30000, 1+n%3, nil))
				}
			})
		}
	}
	wg.Wait()
	for _, s := range []*side{a, b} {
		eventually(t, "all frames", func() bool { return s.count() == senders*frames })
		s.settled(t)
	}
	closeBoth(t, a, b)
}

// Two sides that both fill the link, while each is read by its own waiting
// sender only, must not stand still.
func testBothFull(t *testing.T, pair Pair) {
	const frames = 12
	a, b := startBoth(t, pair, placeLink)
	var wg sync.WaitGroup
	for _, s := range []*side{a, b} {
		s.Attend(true)
		wg.Go(func() {
			defer s.Attend(false)
			for n := range frames {
				s.send(newFrame(1, n, 3<<20, 2, nil))
			}
			for s.owners.handedOver() < frames || s.count() < frames {
				if !s.Progress() {
					runtime.Gosched()
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	eventually(t, "both sides through", func() bool {
		select {
		case <-ended:
			return true
		default:
			return false
		}
	})
	closeBoth(t, a, b)
}

// A Receiver may send from inside End.
func testEcho(t *testing.T, pair Pair) {
	const rounds = 300
	la, lb := pair(t)
	ra, rb := newRecorder(placeOwn), newRecorder(placeOwn)
	a := &side{Link: la, recorder: ra, owners: newOwners()}
	b := &side{Link: lb, recorder: rb, owners: newOwners()}
	rb.onEnd = func(h *transport.Header, _ []byte) {
		b.send(newFrame(2, int(h.Args[argNumber]), int(h.Size), 1, nil))
	}
	ra.onEnd = func(h *transport.Header, _ []byte) {
		if n := int(h.Args[argNumber]) + 1; n < rounds {
			a.send(newFrame(1, n, n*n%9000, 1, nil))
		}
	}
	la.Start(ra)
	lb.Start(rb)
	a.send(newFrame(1, 0, 0, 1, nil))
	eventually(t, "all rounds", func() bool { return a.count() == rounds })
	closeBoth(t, a, b)
}

// Mid is called once per frame, before the frame is whole at the peer, and
// true has no effect.
func testMid(t *testing.T, pair Pair) {
	a, b := startBoth(t, pair, placeOwn)
	var calls, early atomic.Int32
	for n, size := range sizes {
		f := newFrame(1, n, size, 2, nil)
		f.Mid = func() bool {
			calls.Add(1)
			if b.count() <= n {
				early.Add(1)
			}
			return true
		}
		a.send(f)
	}
	eventually(t, "all frames", func() bool { return b.count() == len(sizes) })
	a.settled(t)
	require.EqualValues(t, len(sizes), calls.Load())
	require.EqualValues(t, len(sizes), early.Load())
	closeBoth(t, a, b)
}

func testMidBreaks(t *testing.T, pair Pair) {
	for _, p := range []place{placeOwn, placeLink} {
		a, b := startBoth(t, pair, p)
		for n := range 5 {
			a.send(newFrame(1, n, 1000*n, 1, nil))
		}
		f := newFrame(1, 5, streamed, 3, nil)
		f.Mid = func() bool { return false }
		a.send(f)
		last := a.send(newFrame(1, 6, 10, 1, nil))
		a.gone(t, transport.ErrClosed)
		b.gone(t, transport.ErrPeerGone)
		require.Equal(t, 5, b.count())
		require.Len(t, b.torn, 1)
		require.EqualValues(t, 5, b.torn[0].Args[argNumber])
		a.settled(t)
		require.ErrorIs(t, a.owners.errs[f], transport.ErrClosed)
		require.ErrorIs(t, a.owners.errs[last], transport.ErrClosed)
		back := b.send(newFrame(2, 0, 8, 1, nil))
		b.settled(t)
		require.ErrorIs(t, b.owners.errs[back], transport.ErrPeerGone)
		closeBoth(t, a, b)
	}
}

// Whether a small frame that is broken in the middle is torn or not seen at
// all is the link's choice; it is never delivered.
func testMidBreaksSmall(t *testing.T, pair Pair) {
	for _, size := range []int{0, 1, 100, 70000} {
		a, b := startBoth(t, pair, placeOwn)
		a.send(newFrame(1, 0, 10, 1, nil))
		f := newFrame(1, 1, size, 1, nil)
		f.Mid = func() bool { return false }
		a.send(f)
		a.gone(t, transport.ErrClosed)
		b.gone(t, transport.ErrPeerGone)
		require.Equal(t, 1, b.count())
		closeBoth(t, a, b)
	}
}

func testDeathBetweenFrames(t *testing.T, pair Pair) {
	const frames = 20
	a, b := startBoth(t, pair, placeOwn)
	for n := range frames {
		a.send(newFrame(1, n, 3000*n, 1, nil))
	}
	a.settled(t)
	require.NoError(t, a.Close())
	b.gone(t, transport.ErrPeerGone)
	require.Equal(t, frames, b.count())
	require.Empty(t, b.torn)
	closeBoth(t, a, b)
}

// gate makes a Receiver stand still in its first End, so that the link fills.
func gate(r *recorder) (open func()) {
	ch := make(chan struct{})
	r.onEnd = func(*transport.Header, []byte) { <-ch }
	return sync.OnceFunc(func() { close(ch) })
}

func testCloseReturnsFrames(t *testing.T, pair Pair) {
	const frames = 40
	for _, by := range []string{"Close", "PeerDied"} {
		t.Run(by, func(t *testing.T) {
			la, lb := pair(t)
			rb := newRecorder(placeLink)
			open := gate(rb)
			defer open()
			a, b := start(la, newRecorder(placeLink)), start(lb, rb)
			for n := range frames {
				a.send(newFrame(1, n, 1<<20, 1, nil))
			}
			eventually(t, "the first frame", func() bool { return b.count() > 0 })
			want := transport.ErrClosed
			if by == "PeerDied" {
				want = transport.ErrPeerGone
				a.PeerDied()
			} else {
				require.NoError(t, a.Close())
			}
			a.settled(t)
			late := a.send(newFrame(1, frames, 5, 1, nil))
			a.settled(t)
			require.ErrorIs(t, a.owners.errs[late], want)
			handed := a.owners.handedOver()
			require.Less(t, handed, frames)
			for f, err := range a.owners.errs {
				if err != nil {
					require.ErrorIs(t, err, want)
				} else {
					require.Less(t, f.Header.Args[argNumber], uint64(handed))
				}
			}
			a.gone(t, want)
			open()
			b.gone(t, transport.ErrPeerGone)
			require.LessOrEqual(t, handed, b.count())
			closeBoth(t, a, b)
		})
	}
}

func testCloseFromReceiver(t *testing.T, pair Pair) {
	la, lb := pair(t)
	rb := newRecorder(placeLink)
	rb.onEnd = func(h *transport.Header, _ []byte) {
		if h.Args[argNumber] == 2 {
			lb.Close()
		}
	}
	a, b := start(la, newRecorder(placeLink)), start(lb, rb)
	for n := range 10 {
		a.send(newFrame(1, n, 100, 1, nil))
	}
	b.gone(t, transport.ErrClosed)
	require.Equal(t, 3, b.count())
	a.gone(t, transport.ErrPeerGone)
	closeBoth(t, a, b)
}

// What the dead peer had handed over is delivered first.
func testPeerDiedDrains(t *testing.T, pair Pair) {
	const frames = 5
	la, lb := pair(t)
	rb := newRecorder(placeLink)
	open := gate(rb)
	defer open()
	a, b := start(la, newRecorder(placeLink)), start(lb, rb)
	for n := range frames {
		a.send(newFrame(1, n, 10*n, 1, nil))
	}
	a.settled(t)
	eventually(t, "the first frame", func() bool { return b.count() > 0 })
	b.PeerDied()
	open()
	b.gone(t, transport.ErrPeerGone)
	require.Equal(t, frames, b.count())
	require.Empty(t, b.torn)
	late := b.send(newFrame(1, 0, 100, 1, nil))
	b.settled(t)
	require.ErrorIs(t, b.owners.errs[late], transport.ErrPeerGone)
	closeBoth(t, a, b)
}

func testPeerDiedInsideFrame(t *testing.T, pair Pair) {
	a, b := startBoth(t, pair, placeOwn)
	f := newFrame(1, 0, streamed, 1, nil)
	reached, release := make(chan struct{}), make(chan struct{})
	f.Mid = func() bool { close(reached); <-release; return false }
	go a.send(f)
	<-reached
	eventually(t, "Begin", func() bool { return b.began() == 1 })
	b.PeerDied()
	b.gone(t, transport.ErrPeerGone)
	require.Len(t, b.torn, 1)
	require.Zero(t, b.count())
	close(release)
	a.settled(t)
	closeBoth(t, a, b)
}

func testShutdown(t *testing.T, pair Pair) {
	const frames = 30
	a, b := startBoth(t, pair, placeEither)
	for n := range frames {
		a.send(newFrame(1, n, 10000*n, 1, nil))
		b.send(newFrame(1, n, 20000*n, 1, nil))
	}
	var wg sync.WaitGroup
	for _, s := range []*side{a, b} {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if err := s.Shutdown(ctx); err != nil {
				t.Errorf("Shutdown: %v", err)
			}
		})
	}
	wg.Wait()
	for _, s := range []*side{a, b} {
		s.gone(t, nil)
		s.settled(t)
		require.Equal(t, frames, s.owners.handedOver())
		require.Equal(t, frames, s.count())
		require.Empty(t, s.torn)
		late := s.send(newFrame(1, frames, 1, 1, nil))
		s.settled(t)
		require.ErrorIs(t, s.owners.errs[late], transport.ErrClosed)
	}
	closeBoth(t, a, b)
}

// The side that ends first still gets what the other sends.
func testShutdownOneSideFirst(t *testing.T, pair Pair) {
	const frames = 10
	a, b := startBoth(t, pair, placeOwn)
	a.send(newFrame(1, 0, 100, 1, nil))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- a.Shutdown(ctx) }()
	b.gone(t, nil)
	require.Equal(t, 1, b.count())
	for n := range frames {
		b.send(newFrame(1, n, 70000*n, 1, nil))
	}
	require.NoError(t, b.Shutdown(ctx))
	require.NoError(t, <-ended)
	a.gone(t, nil)
	require.Equal(t, frames, a.count())
	closeBoth(t, a, b)
}

func testShutdownGivesUp(t *testing.T, pair Pair) {
	a, b := startBoth(t, pair, placeOwn)
	a.send(newFrame(1, 0, 100, 1, nil))
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, a.Shutdown(ctx), context.DeadlineExceeded)
	a.gone(t, transport.ErrClosed)
	eventually(t, "the frame", func() bool { return b.count() == 1 })
	closeBoth(t, a, b)
}

// Attention that starts and ends at any moment loses no wake-up.
func testAttentionComesAndGoes(t *testing.T, pair Pair) {
	const rounds = 400
	a, b := startBoth(t, pair, placeLink)
	var stop atomic.Bool
	var wg sync.WaitGroup
	for _, s := range []*side{a, b} {
		wg.Go(func() {
			for i := 0; !stop.Load(); i++ {
				s.Attend(true)
				for range i % 7 {
					s.Progress()
				}
				s.Attend(false)
				if i%3 == 0 {
					time.Sleep(time.Duration(i%50) * time.Microsecond)
				}
			}
		})
	}
	for n := range rounds {
		a.send(newFrame(1, n, n%200, 1, nil))
		b.send(newFrame(1, n, n%50, 1, nil))
		if n%2 == 0 { // one at a time, so that a lost wake-up is not healed by the next frame
			eventually(t, "the frame", func() bool { return b.count() == n+1 && a.count() == n+1 })
		}
	}
	stop.Store(true)
	wg.Wait()
	eventually(t, "all frames", func() bool { return b.count() == rounds && a.count() == rounds })
	closeBoth(t, a, b)
}

// Every frame gets across by itself, however its Send meets what the link does
// at that moment: no later frame and no Progress pushes it along.
func testLoneFrames(t *testing.T, pair Pair) {
	const rounds, senders = 500, 3
	a, b := startBoth(t, pair, placeLink)
	for n := range rounds {
		var wg sync.WaitGroup
		for id := range senders {
			wg.Go(func() { a.send(newFrame(id, n, n%100, 1, nil)) })
			wg.Go(func() { b.send(newFrame(id, n, n%70, 1, nil)) })
		}
		wg.Wait()
		want := (n + 1) * senders
		eventually(t, "the frames", func() bool { return a.count() == want && b.count() == want })
	}
	closeBoth(t, a, b)
}

// A ping-pong of two processes that wait with a Poller, now awake, now asleep.
func testPoller(t *testing.T, pair Pair) {
	const rounds = 200
	la, lb := pair(t)
	pa, pb := transport.NewPoller(), transport.NewPoller()
	ra, rb := newRecorder(placeLink), newRecorder(placeLink)
	ra.onEnd = func(*transport.Header, []byte) { pa.Wake() }
	rb.onEnd = func(*transport.Header, []byte) { pb.Wake() }
	a, b := start(la, ra), start(lb, rb)
	pa.Add(a.Link)
	pb.Add(b.Link)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		for n := range rounds {
			if err := pb.Wait(ctx, func() bool { return b.count() > n }); err != nil {
				t.Errorf("round %d: %v", n, err)
				return
			}
			if n%5 == 0 { // long enough for the other side to fall asleep
				time.Sleep(300 * time.Microsecond)
			}
			b.send(newFrame(1, n, n, 1, nil))
		}
	})
	for n := range rounds {
		a.send(newFrame(1, n, n, 1, nil))
		require.NoError(t, pa.Wait(ctx, func() bool { return a.count() > n }))
		if n%7 == 0 {
			time.Sleep(300 * time.Microsecond)
		}
	}
	wg.Wait()
	pa.Remove(a.Link)
	pb.Remove(b.Link)
	closeBoth(t, a, b)
}

func testCloseWithoutStart(t *testing.T, pair Pair) {
	a, b := pair(t)
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
	require.NoError(t, a.Close())
	o := newOwners()
	f := newFrame(1, 0, 3, 1, o)
	a.Send(f)
	require.ErrorIs(t, o.errs[f], transport.ErrClosed)
}
