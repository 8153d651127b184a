//go:build linux

package shm_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/linktest"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/shm"
)

func newSleeper(t testing.TB) *shm.Sleeper {
	s := shm.NewSleeper()
	if s == nil {
		t.Skip("this kernel has no futex_waitv: each link waits by itself")
	}
	return s
}

// sleepingPair is a pair whose sides wait together with other links of their process.
func sleepingPair(size int, sides [2]*shm.Sleeper) linktest.Pair {
	return func(t testing.TB) (a, b transport.Link) {
		s, err := shm.Create(size)
		require.NoError(t, err)
		defer s.File().Close()
		a, err = sides[0].OpenWithoutNet(s.File(), 0)
		require.NoError(t, err)
		b, err = sides[1].OpenWithoutNet(s.File(), 1)
		require.NoError(t, err)
		return a, b
	}
}

// A link in a Sleeper with other links behaves like a link that waits by itself.
func TestLinkOfASleeper(t *testing.T) {
	for _, size := range []int{4096, 1 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			linktest.Run(t, sleepingPair(size, [2]*shm.Sleeper{newSleeper(t), newSleeper(t)}))
		})
	}
}

// More links than one call can wait for, and no goroutine polls. Frames on each link
// arrive, and both sides see its end or a death, while the other links continue.
func TestManyLinksOfASleeper(t *testing.T) {
	const links = 150
	pair := sleepingPair(4096, [2]*shm.Sleeper{newSleeper(t), newSleeper(t)})
	var a, b [links]transport.Link
	var in, back [links]*inbox
	for i := range links {
		a[i], b[i] = pair(t)
		in[i], back[i] = &inbox{closed: make(chan error, 1)}, &inbox{closed: make(chan error, 1)}
		a[i].Start(back[i])
		b[i].Start(in[i])
	}
	arrives := func(n int64, of func(i int) bool) {
		for i := range links {
			if of(i) {
				require.Eventually(t, func() bool { return in[i].n.Load() == n && back[i].n.Load() == n }, 20*time.Second, time.Millisecond, "link %d", i)
			}
		}
	}
	send := func(i int) {
		a[i].Send(frame(uint8(i), make([]byte, 100+10*i)))
		b[i].Send(frame(uint8(i), make([]byte, 3000))) // in pieces
	}
	all := func(int) bool { return true }
	for i := range links {
		send(i)
	}
	arrives(1, all)
	for i := links - 1; i >= 0; i-- {
		send(i)
	}
	arrives(2, all)

	for i := range links {
		switch i % 3 {
		case 0:
			require.NoError(t, a[i].Close())
			require.Error(t, <-in[i].closed)
		case 1:
			a[i].PeerDied()
			require.Error(t, <-back[i].closed)
		}
	}
	alive := func(i int) bool { return i%3 == 2 }
	for i := range links {
		if alive(i) {
			send(i)
		}
	}
	arrives(3, alive)
	for i := range links {
		require.NoError(t, a[i].Close())
		require.NoError(t, b[i].Close())
	}
	for i := range links {
		if alive(i) {
			<-in[i].closed
			<-back[i].closed
		}
	}
	// A Sleeper accepts links after all earlier ones have ended.
	late, other := pair(t)
	got := &inbox{closed: make(chan error, 1)}
	late.Start(&inbox{closed: make(chan error, 1)})
	other.Start(got)
	late.Send(frame(1, []byte("late")))
	require.Eventually(t, func() bool { return got.n.Load() == 1 }, 20*time.Second, time.Millisecond)
	require.NoError(t, late.Close())
	<-got.closed
	require.NoError(t, other.Close())
}
