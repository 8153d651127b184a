//go:build linux

package shm_test

import (
	"bytes"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/shm"
)

// inbox keeps what arrives.
type inbox struct {
	headers []transport.Header
	kinds   []uint8
	bytes   [][]byte
	n       atomic.Int64
	closed  chan error
}

func (b *inbox) Begin(*transport.Header) []byte { return nil }
func (b *inbox) End(h *transport.Header, p []byte) {
	b.headers, b.kinds, b.bytes = append(b.headers, *h), append(b.kinds, h.Kind), append(b.bytes, bytes.Clone(p))
	b.n.Add(1)
}
func (b *inbox) Torn(*transport.Header, int) {}
func (b *inbox) Lost(*transport.Header)      {}
func (b *inbox) Closed(err error)            { b.closed <- err }

func frame(kind uint8, payload []byte) *transport.Frame {
	return &transport.Frame{Header: transport.Header{Channel: transport.ChannelMessage, Kind: kind}, Payload: [][]byte{payload}}
}

func reserving(t *testing.T, size int) (a transport.Link, r transport.Reserver, in *inbox, end func()) {
	a, b := pairOf(size)(t)
	in = &inbox{closed: make(chan error, 1)}
	a.Start(&inbox{closed: make(chan error, 1)})
	b.Start(in)
	return a, a.(transport.Reserver), in, func() {
		require.NoError(t, a.Close())
		<-in.closed
		require.NoError(t, b.Close())
	}
}

// lend is Reserve of what there is room for, or will be: the link may be at work for a
// moment, for one because it has just begun.
func lend(t *testing.T, r transport.Reserver, size int) []byte {
	t.Helper()
	for start := time.Now(); ; {
		if mem := r.Reserve(size); mem != nil {
			return mem
		}
		require.Less(t, time.Since(start), 20*time.Second, "no room for %d bytes", size)
	}
}

// What is sent while room is lent leaves after it, whether it is used or not.
func TestReserve(t *testing.T) {
	a, r, in, end := reserving(t, 64<<10)
	for i := range 200 {
		payload := bytes.Repeat([]byte{byte(i)}, 1000+i)
		a.Send(frame(1, []byte{byte(i)}))
		mem := lend(t, r, len(payload))
		require.Len(t, mem, len(payload))
		copy(mem, payload)
		a.Send(frame(3, []byte{byte(i)}))
		if i%3 == 0 {
			r.Cancel()
		} else {
			r.Commit(frame(2, payload))
		}
	}
	const want = 200*3 - 67
	require.Eventually(t, func() bool { return in.n.Load() == want }, 20*time.Second, time.Millisecond)
	end()
	k := 0
	for i := range 200 {
		kinds := []uint8{1, 2, 3}
		if i%3 == 0 {
			kinds = []uint8{1, 3}
		}
		for _, kind := range kinds {
			require.Equal(t, kind, in.kinds[k])
			payload := []byte{byte(i)}
			if kind == 2 {
				payload = bytes.Repeat(payload, 1000+i)
			}
			require.Equal(t, payload, in.bytes[k])
			k++
		}
	}
}

func TestReserveWhatDoesNotFit(t *testing.T) {
	a, r, _, end := reserving(t, 64<<10)
	require.Nil(t, r.Reserve(0))
	require.Nil(t, r.Reserve(32<<10), "it would not be sent as a whole")
	lend(t, r, 31<<10)
	require.Nil(t, r.Reserve(1), "one at a time")
	r.Cancel()
	end()
	require.Nil(t, r.Reserve(100), "the link has ended")
	_ = a
}

// A link that ends while room is lent keeps it until it is given back; the
// peer sees nothing.
func TestReserveOnALinkThatEnds(t *testing.T) {
	for name, finish := range map[string]func(transport.Reserver, *transport.Frame){
		"commit": func(r transport.Reserver, f *transport.Frame) { r.Commit(f) },
		"cancel": func(r transport.Reserver, _ *transport.Frame) { r.Cancel() },
		"killed": func(r transport.Reserver, f *transport.Frame) {
			f.Mid = func() bool { return false }
			r.Commit(f)
		},
	} {
		t.Run(name, func(t *testing.T) {
			a, r, in, end := reserving(t, 64<<10)
			mem := lend(t, r, 1000)
			if name != "killed" {
				require.NoError(t, a.Close())
				time.Sleep(time.Millisecond) // whatever ends it gets so far as it can
			}
			copy(mem, bytes.Repeat([]byte{1}, 1000))
			finish(r, frame(1, make([]byte, 1000)))
			end()
			require.Zero(t, in.n.Load())
		})
	}
}

// A frame fits into the room that was reserved for a larger one.
func TestRecordGrows(t *testing.T) {
	for _, size := range []int{4 << 10, 256 << 10, shm.DefaultSize} {
		last := uint64(0)
		for payload := range uint64(40 << 10) {
			n := shm.Record(size, payload)
			require.GreaterOrEqual(t, n, last, "%d bytes in a ring of %d", payload, size)
			require.GreaterOrEqual(t, n, transport.HeaderSize+payload)
			require.Zero(t, n%transport.HeaderSize)
			last = n
		}
	}
}
