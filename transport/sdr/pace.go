package sdr

import (
	"context"
	"time"
)

// To offer a message for want of room, and to send it then, costs more than to send it. So
// the sender first waits for room, as long as others wait before they sleep. A receiver
// that does something else gives none; then this is not tried again before it does.

// paceTime is how long a sender waits for room.
const paceTime = 100 * time.Microsecond

// crowded returns the index of a process for which this one has a small message and no
// room, -1 if there is none.
func (c *Core) crowded(dst, bytes int, exact bool) int {
	if dst == c.rank || bytes > c.limits.Eager {
		return -1
	}
	r := &c.ranks[dst]
	for d := range each(r.live) {
		if pr := &c.processes[r.first+d]; pr.credit < bytes+frameCost && !pr.busy && c.serves(dst, d, exact) {
			return r.first + d
		}
	}
	return -1
}

// timed is a Waiter that can wait until a time has passed.
type timed interface {
	WaitUntil(ctx context.Context, deadline time.Time, done func() bool) error
}

// paceAll is pace for the messages of a round.
func (e *Engine) paceAll(round []Post) {
	for i := range round {
		if m := &round[i]; !m.Receive {
			e.pace(m.Peer, len(m.Data), true)
		}
	}
}

// pace waits a little if there is no room for a small message. The lock is held, and
// given up meanwhile.
func (e *Engine) pace(dst, bytes int, exact bool) {
	p := e.core.crowded(dst, bytes, exact)
	w, ok := e.cfg.Poller.(timed)
	if p < 0 || !ok || e.aborted {
		return
	}
	pr := &e.core.processes[p]
	e.mu.Unlock()
	// Whatever ends the wait is for those to tell who wait on.
	_ = w.WaitUntil(e.cfg.Context, time.Now().Add(paceTime), func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.aborted || !pr.alive || pr.credit >= bytes+frameCost
	})
	e.mu.Lock()
	pr.busy = pr.alive && pr.credit < bytes+frameCost
}
