package linktest

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
)

// testBrokenPromise: the receiver promised to poll and does not. A frame still arrives when
// its sender stops attending.
func testBrokenPromise(t *testing.T, pair Pair) {
	a, b := startBoth(t, pair, placeEither)
	b.Attend(true)
	for n := range 200 {
		a.Attend(true)
		a.send(newFrame(1, n, n%3*100, 1, nil))
		a.Progress()
		a.Attend(false)
		eventually(t, "the frame", func() bool { return b.count() == n+1 })
	}
	b.Attend(false)
	closeBoth(t, a, b)
}

// testShutdownUnderAttention: a link ends even if its users promised to poll and no longer
// poll.
func testShutdownUnderAttention(t *testing.T, pair Pair) {
	const frames = 10
	a, b := startBoth(t, pair, placeEither)
	var wg sync.WaitGroup
	for _, s := range []*side{a, b} {
		s.Attend(true)
		for n := range frames {
			s.send(newFrame(1, n, 100*n, 1, nil))
		}
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
		require.Equal(t, frames, s.count())
		s.Attend(false)
	}
	closeBoth(t, a, b)
}

// testDeathUnderAttention: a frame that was sent before the death of its sender arrives, even if
// the receiver promised to poll and does not.
func testDeathUnderAttention(t *testing.T, pair Pair) {
	a, b := startBoth(t, pair, placeEither)
	a.send(newFrame(1, 0, 100, 1, nil))
	eventually(t, "the first frame, over a connection", func() bool { return b.count() == 1 })
	b.Attend(true)
	a.send(newFrame(1, 1, 100, 1, nil))
	a.settled(t)
	b.PeerDied()
	b.gone(t, transport.ErrPeerGone)
	require.Equal(t, 2, b.count())
	b.Attend(false)
	closeBoth(t, a, b)
}

// testServedWhileComputing: a process still serves its links when it computes without
// polling after a successful wait.
func testServedWhileComputing(t *testing.T, pair Pair) {
	la, lb := pair(t)
	pa, pb := transport.NewPoller(), transport.NewPoller()
	ra, rb := newRecorder(placeLink), newRecorder(placeLink)
	ra.onEnd = func(*transport.Header, []byte) { pa.Wake() }
	var answerer atomic.Pointer[side] // b, which may read before start has returned it
	answers := 0
	rb.onEnd = func(*transport.Header, []byte) {
		answerer.Load().send(newFrame(1, answers, 8, 1, nil))
		answers++
	}
	a, b := start(la, ra), start(lb, rb)
	answerer.Store(b)
	pa.Add(a.Link)
	pb.Add(b.Link)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for n := range 100 {
		polls := 0
		require.NoError(t, pb.Wait(ctx, func() bool { polls++; return polls > 3 }))
		// b no longer has a poller.
		a.send(newFrame(1, n, 100, 1, nil))
		require.NoError(t, pa.Wait(ctx, func() bool { return a.count() == n+1 }))
	}
	pa.Remove(a.Link)
	pb.Remove(b.Link)
	closeBoth(t, a, b)
}
