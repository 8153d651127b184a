package sdrtest

import (
	"context"
	"time"

	"github.com/intrahpc/intra/transport"
)

// Layer is a second protocol in a process: it sends and receives frames of another channel
// over the same links.
type Layer interface {
	// Receiver handles the frames of a link that are not messages.
	Receiver(from *Process) transport.Receiver
	// Dead reports the death of a process, after its last byte.
	Dead(of *Process)
}

// channels passes the frames of a link to the layer to which they belong.
type channels struct {
	messages, layer transport.Receiver
}

func (c *channels) of(h *transport.Header) transport.Receiver {
	if h.Channel == transport.ChannelMessage {
		return c.messages
	}
	return c.layer
}

func (c *channels) Begin(h *transport.Header) []byte  { return c.of(h).Begin(h) }
func (c *channels) End(h *transport.Header, b []byte) { c.of(h).End(h, b) }
func (c *channels) Torn(h *transport.Header, n int)   { c.of(h).Torn(h, n) }
func (c *channels) Lost(h *transport.Header)          { c.of(h).Lost(h) }
func (c *channels) Closed(err error)                  { c.messages.Closed(err); c.layer.Closed(err) }

// Now returns the time of the run. It advances with every step, and jumps when a process
// waits for a time.
func (p *Process) Now() time.Duration { return p.job.now + time.Duration(p.job.steps)*time.Microsecond }

// WaitUntil is like Wait, but also returns nil at the time until; 0: never.
func (p *Process) WaitUntil(until time.Duration, done func() bool) error {
	p.deadline = until
	err := p.Wait(context.Background(), func() bool { return done() || until > 0 && p.Now() >= until })
	p.deadline = 0
	return err
}

// expire advances the time to the deadline of p.
func (p *Process) expire() {
	p.job.now += max(0, p.deadline-p.Now())
	p.woken = true
}

// Reach is called by the program when it reaches a point of death.
func (p *Process) Reach(at Point) {
	if p.pass(at) {
		p.job.kill(p, at)
	}
	if p.Killed {
		panic(errKilled) // start recovers it
	}
}

// Mid counts a passage of a point inside a transfer. It returns the function for
// transport.Frame.Mid that kills the process, if its death is due.
func (p *Process) Mid(at Point) func() bool {
	if !p.pass(at) {
		return nil
	}
	return func() bool {
		p.job.kill(p, at)
		return !p.Killed
	}
}

// pass counts a passage of a point, and reports whether p dies there.
func (p *Process) pass(at Point) bool {
	n := p.reached[at]
	p.reached[at]++
	for i, k := range p.job.job.Kills {
		if k.Rank == p.Rank && k.Replica == p.Replica && k.Point == at && k.Count == n && !p.job.spent[i] {
			p.job.spent[i] = true // so that the next process in the slot does not die, too
			return true
		}
	}
	return false
}
