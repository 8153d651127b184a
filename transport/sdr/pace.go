package sdr

import (
	"context"
	"time"
)

// A sender that is faster than its receiver uses up the room for unmatched messages
// there. What it sends then has to be asked for, and all that comes after it waits for
// that: receiver and sender go to sleep in turn. So the sender waits for room, as long
// as others wait before they sleep. A receiver that does something else gives none;
// then this is not tried again before it does.

// paceTime is how long a sender waits for room.
const paceTime = 100 * time.Microsecond

// spend takes from the room at a process.
func (c *Core) spend(pr *process, cost int) {
	pr.credit -= cost
	c.spent = c.spent || c.low(pr)
}

// low reports whether a process may have no room for the next small message.
func (c *Core) low(pr *process) bool { return pr.alive && pr.credit < c.limits.Eager+frameCost }

func (c *Core) anyLow() bool {
	for i := range c.processes {
		if c.low(&c.processes[i]) {
			return true
		}
	}
	return false
}

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
