package tcp_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/tcp"
)

// noisy is a relay that flips bits.
type noisy struct {
	listener net.Listener
	target   string
	every    int // average number of bytes between two flipped bits

	mu     sync.Mutex
	rng    *rand.Rand
	turned int
}

func (r *noisy) run() {
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
		go r.pass(a, b)
		go r.pass(b, a)
	}
}

func (r *noisy) pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	p := make([]byte, 4096)
	for {
		n, err := from.Read(p)
		if err != nil {
			return
		}
		r.mu.Lock()
		if r.rng.IntN(r.every) < n {
			p[r.rng.IntN(n)] ^= 1 << r.rng.IntN(8)
			r.turned++
		}
		r.mu.Unlock()
		if _, err := to.Write(p[:n]); err != nil {
			return
		}
	}
}

// contents is a Receiver that records the frames that arrived or were reported lost.
type contents struct {
	t    *testing.T
	want []*transport.Frame
	mu   sync.Mutex
	next int
	lost int
	torn int
	all  chan struct{}
}

// Begin returns memory for some payloads, and lets the link provide it for the others.
func (c *contents) Begin(h *transport.Header) []byte {
	if h.Args[0]%2 == 0 {
		return nil
	}
	return make([]byte, h.Size)
}

func (c *contents) End(h *transport.Header, payload []byte) {
	f := c.is(h)
	if !bytes.Equal(payload, bytes.Join(f.Payload, nil)) {
		c.t.Errorf("frame %d of %d bytes has wrong contents", h.Args[0], h.Size)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next++; c.next == len(c.want) {
		close(c.all)
	}
}

func (c *contents) is(h *transport.Header) *transport.Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.Args[0] != uint64(c.next) || *h != c.want[c.next].Header {
		c.t.Errorf("%+v is not frame %d", *h, c.next)
	}
	return c.want[c.next]
}

func (c *contents) Torn(*transport.Header, int) { c.mu.Lock(); c.torn++; c.mu.Unlock() }
func (c *contents) Lost(h *transport.Header) {
	if f := c.is(h); !f.Droppable {
		c.t.Errorf("frame %d is lost", h.Args[0])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost++
	if c.next++; c.next == len(c.want) {
		close(c.all)
	}
}
func (c *contents) Closed(error) {}

// Frames arrive unchanged, once and in order, however many bits are flipped. A droppable
// frame may be reported lost instead.
func TestDamagedFramesAreSentAgain(t *testing.T) {
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer listener.Close()
	front, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer front.Close()
	relay := &noisy{listener: front, target: listener.Addr().String(), every: 300_000, rng: rand.New(rand.NewPCG(1, 2))}
	go relay.run()

	options := tcp.Options{Heartbeat: 5 * time.Millisecond, Sums: true}
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
	options.Dial = func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", front.Addr().String())
	}
	a := tcp.NewReconnecting(options)
	rng := rand.New(rand.NewPCG(3, 4))
	var ends []*contents
	frames := make([][]*transport.Frame, 2)
	for side := range frames {
		for n := range 500 {
			f := number(uint64(n))
			f.Droppable = n%5 == 4
			for range rng.IntN(4) {
				p := make([]byte, []int{1, 100, 5_000, 40_000}[rng.IntN(4)])
				for i := range p {
					p[i] = byte(rng.Uint32())
				}
				f.Payload = append(f.Payload, p)
			}
			f.Header.Size = transport.Size(f.Payload)
			frames[side] = append(frames[side], f)
		}
	}
	for side, l := range []*tcp.Reconnecting{a, b} {
		c := &contents{t: t, want: frames[1-side], all: make(chan struct{})}
		ends = append(ends, c)
		l.Start(c)
	}
	for side, l := range []*tcp.Reconnecting{a, b} {
		go func() {
			for _, f := range frames[side] {
				l.Send(&transport.Frame{Header: f.Header, Payload: f.Payload, Droppable: f.Droppable})
			}
		}()
	}
	for _, c := range ends {
		select {
		case <-c.all:
		case <-time.After(time.Minute):
			t.Fatalf("%d of %d frames arrived", c.next, len(c.want))
		}
	}
	relay.mu.Lock()
	defer relay.mu.Unlock()
	require.Greater(t, relay.turned, 10)
	t.Logf("%d bits were flipped, %d and %d frames lost, %d and %d torn", relay.turned, ends[0].lost, ends[1].lost, ends[0].torn, ends[1].torn)
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
}
