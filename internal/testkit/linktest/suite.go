package linktest

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
)

// Pair makes the two ends of a new link, and does not start them.
type Pair func(t testing.TB) (a, b transport.Link)

// streamed is the size of a frame that no link under test holds back until the frame is
// whole.
const streamed = 5 << 20

// patience bounds waits for events that must happen; only a hang reaches it.
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
		{"PeerDiedBeforeStart", testPeerDiedBeforeStart},
		{"PeerDiedInsideFrame", testPeerDiedInsideFrame},
		{"Shutdown", testShutdown},
		{"ShutdownOneSideFirst", testShutdownOneSideFirst},
		{"ShutdownGivesUp", testShutdownGivesUp},
		{"AttentionComesAndGoes", testAttentionComesAndGoes},
		{"BrokenPromise", testBrokenPromise},
		{"ServedWhileComputing", testServedWhileComputing},
		{"ShutdownUnderAttention", testShutdownUnderAttention},
		{"DeathUnderAttention", testDeathUnderAttention},
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

// few reports whether fewer large frames are sent than in `make matrix` (INTRA_MATRIX=1): the
// suite runs for more than a dozen links, and copying and checking those takes most of its time.
func few() bool { return testing.Short() || os.Getenv("INTRA_MATRIX") == "" }

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
						if size > 1<<17 && pieces != 3 && few() {
							continue
						}
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

// testBothFull: both sides fill the link, and only the waiting sender of each side reads.
// They must make progress.
func testBothFull(t *testing.T, pair Pair) {
	frames := 12
	if few() {
		frames = 4 // 12 MB, which is more than the largest ring holds
	}
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

// testEcho: a Receiver may send from inside End.
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

// testShutdownOneSideFirst: the side that ends first still receives the frames that the
// other side sends.
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

// testAttentionComesAndGoes: no wake-up is lost, whenever attention begins or ends.
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
		if n%2 == 0 { // one at a time, so that the next frame cannot hide a lost wake-up
			eventually(t, "the frame", func() bool { return b.count() == n+1 && a.count() == n+1 })
		}
	}
	stop.Store(true)
	wg.Wait()
	eventually(t, "all frames", func() bool { return b.count() == rounds && a.count() == rounds })
	closeBoth(t, a, b)
}

// testLoneFrames: every frame arrives without the help of a later frame or a call of Progress,
// whatever the link does during its Send.
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

// testPoller is a ping-pong of two processes that wait with a Poller, some rounds awake and
// some asleep.
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
