//go:build linux

package shm_test

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/shm"
)

// tally is an inbox that discards the frames.
type tally struct{ inbox }

func (t *tally) End(*transport.Header, []byte) { t.n.Add(1) }

// If the reader keeps up, the sender reuses the memory that both sides have touched, and
// moves into fresh memory slowly.
func TestMemoryGrowsSlowly(t *testing.T) {
	s, err := shm.Create(4 << 20)
	require.NoError(t, err)
	defer s.File().Close()
	a, err := shm.Open(s.File(), 0)
	require.NoError(t, err)
	b, err := shm.Open(s.File(), 1)
	require.NoError(t, err)
	in := &tally{inbox{closed: make(chan error, 1)}}
	a.Start(&inbox{closed: make(chan error, 1)})
	b.Attend(true) // no other goroutine receives there
	b.Start(in)
	a.(transport.Turning).TakeTurns()
	frames := int64(0)
	send := func(total, size int) (used int64) {
		for range total / size {
			a.Send(frame(1, make([]byte, size-transport.HeaderSize)))
			frames++
			for start := time.Now(); in.n.Load() < frames; b.Progress() {
				require.Less(t, time.Since(start), 20*time.Second)
			}
		}
		var st unix.Stat_t
		require.NoError(t, unix.Fstat(int(s.File().Fd()), &st))
		return st.Blocks * 512
	}
	page := int64(unix.Getpagesize())
	require.LessOrEqual(t, send(200<<10, 128), 24<<10+2*page)
	require.LessOrEqual(t, send(800<<10, 8<<10), 80<<10+2*page)
	require.LessOrEqual(t, send(3<<20, 32<<10), 256<<10+2*page)
	require.Greater(t, send(160<<20, 32<<10), int64(4<<20), "the laps never reach the end of the ring")
	b.Attend(false)
	require.NoError(t, a.Close())
	<-in.closed
	require.NoError(t, b.Close())
}

// Frames of all sizes arrive unchanged and in order, whether the reader is close behind or
// not.
func TestLaps(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		size := 32 << 10 << r.IntN(6)
		a, b := turning(size)(t)
		in := &inbox{closed: make(chan error, 1)}
		a.Start(&inbox{closed: make(chan error, 1)})
		b.Attend(true)
		b.Start(in)
		var sent [][]byte
		lag := 1 + r.IntN(20)
		for len(sent) < 2000 {
			n := r.IntN(1 + r.IntN(1<<r.IntN(12)))
			if r.IntN(100) == 0 {
				n = r.IntN(size) // whole or in pieces
			}
			payload := bytes.Repeat([]byte{byte(len(sent)), byte(len(sent) >> 8), 1}, n/3+1)[:n]
			h := transport.Header{Channel: transport.ChannelMessage, Kind: 1}
			if r.IntN(2) == 0 || !a.(transport.Prompt).SendNow(&h, payload, nil) {
				a.Send(frame(1, payload))
			}
			sent = append(sent, payload)
			if r.IntN(500) == 0 {
				lag = 1 + r.IntN(1<<r.IntN(9))
			}
			for start := time.Now(); len(sent)-int(in.n.Load()) >= lag; {
				if !b.Progress() && !a.Progress() {
					runtime.Gosched()
					require.Less(t, time.Since(start), 20*time.Second)
				}
			}
		}
		for start := time.Now(); int(in.n.Load()) < len(sent); b.Progress() {
			a.Progress()
			require.Less(t, time.Since(start), 20*time.Second)
		}
		b.Attend(false)
		require.NoError(t, a.Close())
		<-in.closed
		require.NoError(t, b.Close())
		for i := range sent {
			require.True(t, bytes.Equal(sent[i], in.bytes[i]), "seed %d: frame %d", seed, i)
		}
	}
}
