//go:build linux

package shm_test

import (
	"bytes"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
)

// Several goroutines send, with SendNow or Send, and the frames of each one arrive in
// order. Frames that were queued during a SendNow arrive as well, although only the link's
// own goroutine can send them.
func TestSendNow(t *testing.T) {
	a, in, end := started(t, 64<<10)
	const senders, each = 3, 1000
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				half := []byte{byte(i), byte(i >> 8)}
				h := transport.Header{Channel: transport.ChannelMessage, Kind: uint8(s)}
				if s == 0 || !a.(transport.Prompt).SendNow(&h, half, bytes.Repeat(half, i%50)) {
					a.Send(frame(uint8(s), bytes.Repeat(half, 1+i%50)))
				}
			}
		})
	}
	wg.Wait()
	require.Eventually(t, func() bool { return in.n.Load() == senders*each }, 20*time.Second, time.Millisecond)
	end()
	var next [senders]int
	for k, s := range in.kinds {
		i := next[s]
		require.Equal(t, bytes.Repeat([]byte{byte(i), byte(i >> 8)}, 1+i%50), in.bytes[k])
		next[s]++
	}
	h := transport.Header{Channel: transport.ChannelMessage}
	require.Eventually(t, func() bool { return !a.(transport.Prompt).SendNow(&h, nil, nil) }, 20*time.Second, time.Millisecond, "the link is closed")
}

// A frame that does not fit is queued like any other.
func TestSendNowFull(t *testing.T) {
	a, b := pairOf(4096)(t)
	in := &inbox{closed: make(chan error, 1)}
	a.Start(&inbox{closed: make(chan error, 1)})
	h := transport.Header{Channel: transport.ChannelMessage}
	now := a.(transport.Prompt)
	require.False(t, now.SendNow(&h, make([]byte, 2048), nil), "longer than half of the ring")
	for range 3 { // the link's own goroutine may hold the lock at that moment
		require.Eventually(t, func() bool { return now.SendNow(&h, make([]byte, 900), nil) }, 20*time.Second, time.Millisecond)
	}
	require.False(t, now.SendNow(&h, make([]byte, 900), nil), "SendNow fails on a full ring")
	a.Send(frame(5, make([]byte, 900)))
	require.False(t, now.SendNow(&h, nil, nil), "SendNow must not overtake a queued frame")
	b.Start(in)
	require.Eventually(t, func() bool { return in.n.Load() == 4 }, 20*time.Second, time.Millisecond)
	require.Equal(t, []uint8{0, 0, 0, 5}, in.kinds)
	require.NoError(t, a.Close())
	<-in.closed
	require.NoError(t, b.Close())
}

// Bytes from earlier laps are not taken for a frame, even if they look like one.
func TestStalePayload(t *testing.T) {
	a, in, end := started(t, 4096)
	looks := transport.Header{Channel: transport.ChannelMessage, Kind: 99}
	var header [transport.HeaderSize]byte
	looks.Encode(&header)
	now := a.(transport.Prompt)
	for i := range 300 {
		payload := bytes.Repeat(header[:], i%23) // up to a third of the ring
		h := transport.Header{Channel: transport.ChannelMessage, Kind: 1}
		switch {
		case i%7 == 0:
			a.Send(frame(1, bytes.Repeat(header[:], 40+i%80))) // in pieces
		case i%2 == 0 || !now.SendNow(&h, payload, nil):
			a.Send(frame(1, payload))
		}
		for start := time.Now(); in.n.Load() <= int64(i); runtime.Gosched() {
			require.Less(t, time.Since(start), 20*time.Second)
		}
	}
	end()
	require.NotContains(t, in.kinds, uint8(99))
	require.Len(t, in.kinds, 300)
}

// A small payload may be stored among the arguments of the header. Both arrive unchanged.
func TestSmallPayload(t *testing.T) {
	a, in, end := started(t, 4096)
	var headers []transport.Header
	var payloads [][]byte
	for zero := range 1 << 6 {
		for size := range 11 {
			h := transport.Header{Channel: transport.ChannelRecovery, Kind: 0xab, Flags: 0xcdef, Incarnation: 0x12345678, Size: uint64(size)}
			for i := range h.Args {
				if zero>>i&1 == 0 {
					h.Args[i] = 0xfedcba9876543210 + uint64(i)
				}
			}
			payload := []byte("\x00\xffpayloads!")[:size]
			headers, payloads = append(headers, h), append(payloads, payload)
			switch {
			case size%3 == 0:
				a.Send(&transport.Frame{Header: h, Payload: [][]byte{payload[:size/2], payload[size/2:]}})
			case size%3 == 1 || !a.(transport.Prompt).SendNow(&h, payload[:size/2], payload[size/2:]):
				a.Send(&transport.Frame{Header: h, Payload: [][]byte{payload}, Mid: func() bool { return true }})
			}
			require.Eventually(t, func() bool { return in.n.Load() == int64(len(headers)) }, 20*time.Second, 10*time.Microsecond)
		}
	}
	end()
	require.Equal(t, headers, in.headers)
	for i, p := range payloads {
		require.True(t, bytes.Equal(p, in.bytes[i]), "frame %d", i)
	}
}

// A receiver that reads frame after frame wakes a sender that sleeps because the ring is
// full.
func TestRoomForSleeper(t *testing.T) {
	a, b := pairOf(4096)(t)
	in := &inbox{closed: make(chan error, 1)}
	a.Start(&inbox{closed: make(chan error, 1)})
	b.Attend(true) // no other goroutine receives there
	b.Start(in)
	const burst = 6
	for round := range 2000 {
		for range burst { // more than fit into the ring
			a.Send(frame(1, make([]byte, 900)))
		}
		if round%4 == 0 {
			time.Sleep(100 * time.Microsecond) // until the sender sleeps
		}
		for start := time.Now(); in.n.Load() < int64(burst*(round+1)); {
			if !b.Progress() {
				runtime.Gosched()
				require.Less(t, time.Since(start), 20*time.Second, "frame %d of round %d", in.n.Load(), round)
			}
		}
	}
	b.Attend(false)
	require.NoError(t, a.Close())
	<-in.closed
	require.NoError(t, b.Close())
}
