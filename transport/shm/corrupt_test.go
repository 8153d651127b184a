//go:build linux

package shm

import (
	"encoding/binary"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/transport"
)

// counter is a Receiver that lets the link provide the memory of payloads.
type counter struct {
	ends, torn int
	sum        byte // sum of all payload bytes, which makes the test read every byte
	closed     chan error
}

func (c *counter) Begin(*transport.Header) []byte { return nil }
func (c *counter) End(h *transport.Header, payload []byte) {
	if uint64(len(payload)) != h.Size {
		panic("payload of another size than announced")
	}
	for _, b := range payload {
		c.sum += b
	}
	c.ends++
}
func (c *counter) Torn(*transport.Header, int) { c.torn++ }
func (c *counter) Lost(*transport.Header)      { panic("lost") }
func (c *counter) Closed(err error)            { c.closed <- err }

const fuzzRing = 4096

// expect is a simple reader of a ring as an oracle. It returns the number of whole frames
// before the first one that is wrong or missing.
func expect(ring []byte, tail uint64, bye bool) (ends, torn int, corrupt, ended bool) {
	if tail > fuzzRing {
		return 0, 0, true, false
	}
	for pos := uint64(0); ; {
		n := tail - pos
		if n == 0 {
			return ends, 0, false, bye
		}
		var h transport.Header
		if binary.LittleEndian.Uint64(ring[pos:]) == 0 {
			return ends, 0, false, false // the sender died before it published the frame
		}
		var head [64]byte
		copy(head[:], ring[pos:])
		word, last := head[0]>>4&7, head[0]>>7 != 0
		head[0] &= 15
		if n < 64 || h.Decode(&head) != nil {
			return ends, 0, true, false
		}
		turn := func(record uint64) bool { // skips to the end of the lap, if all of it is published
			if record += pos; last {
				record = fuzzRing
			}
			ends++
			pos = record
			return pos <= tail
		}
		if word != 0 { // the payload is in the header
			if word < 2 || word > 7 || h.Size == 0 || h.Size > 8 {
				return ends, 0, true, false
			}
			if !turn(64) {
				return ends - 1, 0, true, false
			}
			continue
		}
		n -= 64
		padded := (h.Size + 63) / 64 * 64
		switch {
		case last && 64+padded > fuzzRing/2:
			return ends, 0, true, false // a frame in pieces never is the last one of its lap
		case n >= padded:
			if !turn(64 + padded) {
				return ends - 1, 0, true, false
			}
		case 64+padded <= fuzzRing/2:
			return ends, 0, true, false // a whole frame would have been published at once
		case n >= h.Size:
			return ends, 1, true, false // the padding is missing
		default:
			return ends, 1, false, false
		}
	}
}

// FuzzRing fills a ring with bytes that a broken or malicious process could write.
func FuzzRing(f *testing.F) {
	frame := func(size, body int) []byte {
		h := transport.Header{Channel: transport.ChannelMessage, Size: uint64(size)}
		var head [64]byte
		h.Encode(&head)
		return append(head[:], make([]byte, (body+63)/64*64)...)
	}
	f.Add([]byte{}, uint64(0), uint32(endBye))
	f.Add(frame(0, 0), uint64(64), uint32(endBye))
	f.Add(append(frame(100, 100), frame(3, 3)...), uint64(320), uint32(endGone))
	f.Add(frame(100, 100), uint64(128), uint32(endOpen))
	f.Add(frame(3000, 3000), uint64(3072), uint32(endBye))
	f.Add(frame(3000, 3000), uint64(64+3008), uint32(endBye))
	f.Add(frame(3001, 3001), uint64(64+3001), uint32(endBye))
	f.Add(frame(transport.MaxPayload, 100), uint64(4096), uint32(endOpen))
	f.Add(frame(0, 0), uint64(1<<63), uint32(7))
	f.Add(append(frame(3, 3), make([]byte, 128)...), uint64(256), uint32(endOpen)) // killed before the first word
	f.Add(make([]byte, 64), uint64(64), uint32(endBye))
	for word := range 10 {
		small := frame(8, 0)
		small[0] |= byte(word) << 4
		f.Add(append(small, frame(5, 5)...), uint64(64+128), uint32(endBye))
	}
	last := func(frame []byte) []byte {
		frame[0] |= 1 << 7
		return frame
	}
	f.Add(last(frame(3, 3)), uint64(4096), uint32(endBye))
	f.Add(last(frame(100, 100)), uint64(2048), uint32(endBye)) // the rest of the lap is not published
	f.Add(last(frame(1900, 1900)), uint64(4096), uint32(endGone))
	f.Add(last(frame(3000, 3000)), uint64(4096), uint32(endBye)) // in pieces
	f.Fuzz(func(t *testing.T, content []byte, tail uint64, end uint32) {
		s, err := Create(fuzzRing)
		require.NoError(t, err)
		defer s.File().Close()
		l, err := Open(s.File(), 0)
		require.NoError(t, err)
		ring := l.(*link).in.ring
		copy(ring.data[:fuzzRing], content)
		image := append([]byte(nil), ring.data[:fuzzRing]...)
		ring.sender.Store(end)
		ring.tail.Store(tail)

		c := &counter{closed: make(chan error, 1)}
		l.(*link).peerDead.Store(true) // otherwise the time of PeerDied would decide which bytes are read
		l.Start(c)
		l.PeerDied()
		err = <-c.closed
		ends, torn, corrupt, ended := expect(image, tail, end == endBye)
		require.Equal(t, ends, c.ends)
		require.Equal(t, torn, c.torn)
		if ended {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, transport.ErrPeerGone)
		}
		require.Equal(t, corrupt, errors.Is(err, errCorrupt) || errors.Is(err, transport.ErrHeader))
		require.NoError(t, l.Close())
		<-l.(*link).done
	})
}

type outcome chan error

func (o outcome) Sent(_ *transport.Frame, err error) { o <- err }

// A reader that claims bytes that were never written, or moves its head back, ends the
// link.
func TestCorruptHead(t *testing.T) {
	for _, head := range []uint64{1 << 40, 1<<64 - 1, fuzzRing + 1} {
		s, err := Create(fuzzRing)
		require.NoError(t, err)
		l, err := Open(s.File(), 0)
		require.NoError(t, err)
		require.NoError(t, s.File().Close())
		c := &counter{closed: make(chan error, 1)}
		l.Start(c)
		sent := make(outcome, 4)
		l.(*link).out.head.Store(head)
		for range 4 {
			l.Send(&transport.Frame{
				Header:  transport.Header{Channel: transport.ChannelSection},
				Payload: [][]byte{make([]byte, 1900)}, Owner: sent,
			})
		}
		require.NoError(t, <-sent)
		require.NoError(t, <-sent)
		for range 2 {
			err := <-sent
			require.ErrorIs(t, err, transport.ErrPeerGone)
		}
		require.NoError(t, l.Close())
		<-l.(*link).done
	}
}

func TestOpenRefuses(t *testing.T) {
	memfd := func(t *testing.T, size int64, head []byte, seals int) *os.File {
		fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		require.NoError(t, err)
		f := os.NewFile(uintptr(fd), "test")
		t.Cleanup(func() { f.Close() })
		require.NoError(t, f.Truncate(size))
		_, err = f.WriteAt(head, 0)
		require.NoError(t, err)
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
		require.NoError(t, err)
		return f
	}
	good, err := Create(fuzzRing)
	require.NoError(t, err)
	defer good.File().Close()
	head := make([]byte, 16)
	_, err = good.File().ReadAt(head, 0)
	require.NoError(t, err)
	size := int64(segmentSize(fuzzRing))
	sealed := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW
	wrong := func(i int) []byte {
		b := append([]byte(nil), head...)
		b[i] ^= 0x40
		return b
	}
	for _, test := range []struct {
		name string
		file *os.File
	}{
		{"not sealed", memfd(t, size, head, 0)},
		{"shorter than its rings", memfd(t, size-1, head, sealed)},
		{"longer than its rings", memfd(t, size+1, head, sealed)},
		{"no magic", memfd(t, size, wrong(0), sealed)},
		{"ring no power of two", memfd(t, size, wrong(8), sealed)},
		{"ring beyond reason", memfd(t, size, wrong(14), sealed)},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Open(test.file, 0)
			require.ErrorIs(t, err, ErrSegment)
		})
	}
	file, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer file.Close()
	_, err = Open(file, 0)
	require.ErrorIs(t, err, ErrSegment)
	_, err = Open(good.File(), 2)
	require.ErrorContains(t, err, "side 2")
	for _, size := range []int{0, -1, maxSize + 1} {
		_, err = Create(size)
		require.Error(t, err)
	}
	l, err := Open(memfd(t, size, head, sealed), 0)
	require.NoError(t, err)
	require.NoError(t, l.Close())
}
