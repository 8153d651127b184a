package tcp_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/tcp"
)

// arrivals is a Receiver that reports each frame.
type arrivals struct {
	ends   chan uint64 // Args[0]
	closed chan error
}

func newArrivals() *arrivals {
	return &arrivals{ends: make(chan uint64, 1000), closed: make(chan error, 1)}
}

func (a *arrivals) Begin(*transport.Header) []byte    { return nil }
func (a *arrivals) End(h *transport.Header, _ []byte) { a.ends <- h.Args[0] }
func (a *arrivals) Torn(*transport.Header, int)       {}
func (a *arrivals) Lost(*transport.Header)            {}
func (a *arrivals) Closed(err error)                  { a.closed <- err }

func number(n uint64) *transport.Frame {
	return &transport.Frame{Header: transport.Header{Channel: transport.ChannelMessage, Args: [6]uint64{n}}}
}

// halfRelay is a relay that can stop forwarding one direction. Both connections stay open,
// so only the heartbeats of the links reveal it.
type halfRelay struct {
	listener net.Listener
	target   string
	silent   atomic.Bool
}

func (r *halfRelay) run() {
	for {
		a, err := r.listener.Accept()
		if err != nil {
			return
		}
		b, err := net.Dial("tcp", r.target)
		if err != nil {
			a.Close()
			continue
		}
		go func() {
			defer a.Close()
			_, _ = io.Copy(a, b)
		}()
		go func() {
			defer a.Close()
			defer b.Close()
			p := make([]byte, 4096)
			for stalled := false; ; {
				a.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
				n, err := a.Read(p)
				if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
					return
				}
				if r.silent.Load() {
					stalled = true
					continue
				}
				if stalled { // the relay has acknowledged these bytes, so TCP does not send them again
					return
				}
				if _, err := b.Write(p[:n]); err != nil {
					return
				}
			}
		}()
	}
}

// A link detects by its heartbeats that a connection carries bytes in one direction only. It calls
// Suspect with an error, and with nil when it has a working connection again.
func TestHalfDeadConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer listener.Close()
	front, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer front.Close()
	relay := &halfRelay{listener: front, target: listener.Addr().String()}
	go relay.run()

	suspicions := make(chan error, 100)
	options := tcp.Options{Heartbeat: 5 * time.Millisecond, SuspectAfter: 20 * time.Millisecond, Suspect: func(err error) { suspicions <- err }}
	b := tcp.NewReconnecting(options)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _ = b.Adopt(c) }()
		}
	}()
	options.Suspect = nil
	options.Dial = func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", front.Addr().String())
	}
	a := tcp.NewReconnecting(options)
	ra, rb := newArrivals(), newArrivals()
	a.Start(ra)
	b.Start(rb)
	a.Send(number(1))
	require.EqualValues(t, 1, <-rb.ends)

	relay.silent.Store(true)
	a.Send(number(2))
	for err = range suspicions { // on a loaded machine the peer may have suspected the connection, too
		if err != nil && relay.silent.Load() {
			break
		}
	}
	require.Empty(t, rb.ends)
	relay.silent.Store(false)
	require.EqualValues(t, 2, <-rb.ends)
	for err = range suspicions {
		if err == nil {
			break
		}
	}
	a.Send(number(3))
	require.EqualValues(t, 3, <-rb.ends)
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
	require.ErrorIs(t, <-rb.closed, transport.ErrClosed)
	require.ErrorIs(t, <-ra.closed, transport.ErrClosed)
}

// position returns the first message of a link on a new connection.
func position(attempt, received, offset uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, attempt)
	return binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, received), offset)
}

// adopt connects a link that is dialled to a test that acts as its peer.
func adopt(t testing.TB, l *tcp.Reconnecting, say []byte) (net.Conn, error) {
	ours, theirs := dialed(t)
	_, err := ours.Write(say)
	require.NoError(t, err)
	return ours, l.Adopt(theirs)
}

// A connection that was dialled before the one in use, but arrived late, does not
// replace it.
func TestLateConnectionIsRefused(t *testing.T) {
	l := tcp.NewReconnecting(tcp.Options{})
	r := newArrivals()
	l.Start(r)
	c, err := adopt(t, l, position(2, 0, 0))
	require.NoError(t, err)
	var answer [24]byte
	_, err = io.ReadFull(c, answer[:])
	require.NoError(t, err)
	require.Equal(t, position(2, 0, 0), answer[:])
	for _, attempt := range []uint64{0, 1, 2} {
		late, err := adopt(t, l, position(attempt, 0, 0))
		require.ErrorContains(t, err, "came after attempt 2")
		_, err = late.Read(answer[:])
		require.Error(t, err)
		late.Close()
	}
	h := number(7).Header
	var head [transport.HeaderSize]byte
	h.Encode(&head)
	_, err = c.Write(head[:])
	require.NoError(t, err)
	require.EqualValues(t, 7, <-r.ends, "the connection in use still works")
	require.NoError(t, l.Close())
	require.ErrorIs(t, <-r.closed, transport.ErrClosed)
	c.Close()
}

// FuzzReconnecting sends any bytes on a connection. The link closes the connection or
// continues, and works over the next one.
func FuzzReconnecting(f *testing.F) {
	whole := func(first byte, size int) []byte {
		h := transport.Header{Channel: transport.ChannelMessage, Size: uint64(size)}
		var head [transport.HeaderSize]byte
		h.Encode(&head)
		head[0] |= first
		return append(head[:], make([]byte, size)...)
	}
	word := func(s string, n uint64) []byte {
		b := append([]byte(s), make([]byte, transport.HeaderSize-len(s))...)
		binary.LittleEndian.PutUint64(b[8:], n)
		return b
	}
	f.Add(uint64(0), uint64(0), whole(0, 100))
	f.Add(uint64(1), uint64(0), whole(0x80, 30_000)[:20_000])
	f.Add(uint64(0), uint64(70), append(word("\x00ack", 1), word("\x00ack", 99)...))
	f.Add(uint64(0), uint64(64), append(whole(0xc0, 1<<20)[:64], word("\x00end", 0)...))
	f.Add(uint64(9), uint64(1<<63), word("\x00bye", 0))
	f.Fuzz(func(t *testing.T, received, offset uint64, stream []byte) {
		l := tcp.NewReconnecting(tcp.Options{})
		r := newArrivals()
		l.Start(r)
		l.Send(&transport.Frame{Header: number(1).Header, Payload: [][]byte{make([]byte, 100)}})
		l.Send(number(2))
		c, err := adopt(t, l, append(position(1, received, offset), stream...))
		require.NoError(t, err)
		c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c) // until the link closes the connection
		c.Close()
		require.NoError(t, l.Close())
		<-r.closed
	})
}
