package linktest

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
)

// testMid: the link calls Mid once per frame, before the frame is whole at the peer. The
// result true has no effect.
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
		// A link may batch queued frames, and then the death in the middle of one would affect all
		// of them.
		eventually(t, "the frames before", func() bool { return b.count() == 5 })
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

// testMidBreaksSmall: if a small frame is broken in the middle, the link may report it as
// torn or not at all, but it never delivers the frame.
func testMidBreaksSmall(t *testing.T, pair Pair) {
	for _, size := range []int{0, 1, 100, 70000} {
		a, b := startBoth(t, pair, placeOwn)
		a.send(newFrame(1, 0, 10, 1, nil))
		eventually(t, "the frame before", func() bool { return b.count() == 1 })
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

// gate makes a Receiver block in its first End, so that the link fills.
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

// testPeerDiedDrains: the frames that the dead peer had handed over are delivered first.
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

// testPeerDiedBeforeStart: a death may be reported before the link starts, and again later.
func testPeerDiedBeforeStart(t *testing.T, pair Pair) {
	la, lb := pair(t)
	a := start(la, newRecorder(placeLink))
	lb.PeerDied()
	b := start(lb, newRecorder(placeLink))
	b.PeerDied()
	b.gone(t, transport.ErrPeerGone)
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
