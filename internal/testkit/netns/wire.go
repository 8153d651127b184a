package netns

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

// Conditions are the properties of one direction between two hosts. The zero value is a
// perfect wire.
type Conditions struct {
	Cut    bool          // no frame arrives
	Delay  time.Duration // delay of each frame
	Jitter time.Duration // additional random delay up to this time; frames stay in order
	Loss   float64       // share of frames that are lost, 0 to 1
	Rate   float64       // bytes per second; 0: unlimited
	NoUDP  bool          // datagrams are dropped, as by a firewall
}

// Set sets the conditions from one host to another, both by index.
func (n *Net) Set(from, to int, c Conditions) { n.fabric.wires[from][to].set(c) }

// Between sets the conditions between two hosts, in both directions.
func (n *Net) Between(a, b int, c Conditions) {
	n.Set(a, b, c)
	n.Set(b, a, c)
}

// Around sets the conditions between a host and all others, in both directions.
func (n *Net) Around(i int, c Conditions) {
	for k := range n.Hosts {
		if k != i {
			n.Between(i, k, c)
		}
	}
}

// All sets the conditions between all hosts.
func (n *Net) All(c Conditions) {
	for i := range n.Hosts {
		n.Around(i, c)
	}
}

// maxQueued is the number of bytes that may wait on a wire before further frames are lost.
const maxQueued = 4 << 20

// wire is one direction between two hosts.
type wire struct {
	port *os.File // the interface of the receiver

	mu     sync.Mutex
	c      Conditions
	random *rand.Rand
	free   time.Time // time at which the last frame has left the sender
	last   time.Time // time at which the last frame arrives
	queue  []inFlight
	queued int
}

// inFlight is a frame between two hosts.
type inFlight struct {
	frame []byte
	due   time.Time
}

func newWire(seed, number uint64) *wire {
	return &wire{random: rand.New(rand.NewPCG(seed, number))}
}

func (w *wire) set(c Conditions) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.c = c
	if c.Cut {
		w.queue, w.queued = nil, 0
	}
}

// isUDP reports whether a frame holds a datagram over IPv4 or IPv6.
func isUDP(frame []byte) bool {
	const udp = 17
	if len(frame) < headerSize+34 {
		return false
	}
	frame = frame[headerSize:]
	switch binary.BigEndian.Uint16(frame[12:]) {
	case 0x0800:
		return frame[23] == udp
	case 0x86dd:
		return frame[20] == udp
	}
	return false
}

// carry delivers a frame at its time, or drops it. The caller may reuse the frame.
func (w *wire) carry(frame []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.c.Cut, w.c.NoUDP && isUDP(frame), w.c.Loss > 0 && w.random.Float64() < w.c.Loss, w.queued > maxQueued:
		return
	case w.c == Conditions{} && len(w.queue) == 0:
		w.deliver(frame)
		return
	}
	now := time.Now()
	if w.free.Before(now) {
		w.free = now
	}
	if w.c.Rate > 0 {
		w.free = w.free.Add(time.Duration(float64(len(frame)) / w.c.Rate * float64(time.Second)))
	}
	due := w.free.Add(w.c.Delay)
	if w.c.Jitter > 0 {
		due = due.Add(time.Duration(w.random.Int64N(int64(w.c.Jitter))))
	}
	if due.Before(w.last) {
		due = w.last
	}
	w.last = due
	w.queue = append(w.queue, inFlight{bytes.Clone(frame), due})
	w.queued += len(frame)
	if len(w.queue) == 1 {
		time.AfterFunc(due.Sub(now), w.arrive)
	}
}

// arrive delivers the frames that are due.
func (w *wire) arrive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	for len(w.queue) > 0 {
		p := w.queue[0]
		if wait := p.due.Sub(now); wait > 0 {
			time.AfterFunc(wait, w.arrive)
			return
		}
		w.queue = w.queue[1:]
		w.queued -= len(p.frame)
		w.deliver(p.frame)
	}
}

// deliver writes a frame to the receiver's interface. A frame that the interface does
// not accept is lost.
func (w *wire) deliver(frame []byte) { _, _ = w.port.Write(frame) }
