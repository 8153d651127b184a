package sdr

import (
	"context"
	"time"
)

// If a sender lacks room at the receiver, it can offer a message and send it later, but this costs
// more than waiting for room and then sending it. So the sender first waits for room, for about as
// long as other waits poll before they sleep. A receiver that is busy with other work returns no
// room. The sender then does not wait for it again before it has returned some.

// paceTime bounds how long a sender waits for room.
const paceTime = 100 * time.Microsecond

// timed is a Waiter that can wait until a time has passed.
type timed interface {
	WaitUntil(ctx context.Context, deadline time.Time, done func() bool) error
}

// pace waits for up to paceTime if there is no room for a small message. The lock is held,
// and released during the wait.
func (e *Engine) pace(dst, bytes int, exact bool) {
	p := e.core.job.crowded(dst, bytes, exact)
	w, ok := e.cfg.Poller.(timed)
	if p < 0 || !ok || e.aborted {
		return
	}
	pr := &e.core.job.processes[p]
	e.mu.Unlock()
	// If the job ends, later waits report it.
	_ = w.WaitUntil(e.cfg.Context, time.Now().Add(paceTime), func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.aborted || !pr.alive || pr.credit >= bytes+frameCost
	})
	e.mu.Lock()
	pr.busy = pr.alive && pr.credit < bytes+frameCost
}
