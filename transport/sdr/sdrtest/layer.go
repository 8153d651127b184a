package sdrtest

import (
	"context"
	"time"

	"github.com/intrahpc/intra/transport"
)

// Layer is what a process runs beside the messages: it sends and receives
// frames of another channel over the same links.
type Layer interface {
	// Receiver takes the frames of a link that are not messages.
	Receiver(from *Process) transport.Receiver
	// Dead tells of a verdict, after the last byte of that process.
	Dead(of *Process)
}

// channels hands the frames of a link to the layer that they are for.
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

// Now is the time of the run. It passes with every step, and jumps when
// somebody waits for a time.
func (p *Process) Now() time.Duration { return p.job.now + time.Duration(p.job.steps)*time.Microsecond }

// WaitUntil is Wait that also returns nil at the time until; 0 is never.
func (p *Process) WaitUntil(until time.Duration, done func() bool) error {
	p.deadline = until
	err := p.Wait(context.Background(), func() bool { return done() || until > 0 && p.Now() >= until })
	p.deadline = 0
	return err
}

// expire lets the time come for which p waits.
func (p *Process) expire() {
	p.job.now += max(0, p.deadline-p.Now())
	p.woken = true
}

// Reach is called by the program when it passes a point of death.
func (p *Process) Reach(at Point) {
	if p.pass(at) {
		p.job.kill(p, at)
	}
	if p.Killed {
		panic(errKilled) // start recovers it
	}
}

// Mid counts a passage of a point inside a transfer. It returns what goes into
// transport.Frame.Mid: the death of the process, if it is due.
func (p *Process) Mid(at Point) func() bool {
	if !p.pass(at) {
		return nil
	}
	return func() bool {
		p.job.kill(p, at)
		return !p.Killed
	}
}

// pass counts a passage and reports whether p dies there.
func (p *Process) pass(at Point) bool {
	n := p.reached[at]
	p.reached[at]++
	for i, k := range p.job.job.Kills {
		if k.Rank == p.Rank && k.Replica == p.Replica && k.Point == at && k.Count == n && !p.job.spent[i] {
			p.job.spent[i] = true // not in the next life
			return true
		}
	}
	return false
}
