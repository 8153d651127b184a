package transport

import "time"

// After a promise ends or a wait succeeds, the links keep their attention for a while,
// because a goroutine that has just stopped polling usually starts again soon. Withdrawing
// and renewing the attention each time would cost more than the frames that are sent in
// between.

// lingers is the interval at which the poller checks whether a wait still uses the
// attention. A frame that arrives when no goroutine polls waits for at most two intervals.
// A peer that sends such a frame and then goes to sleep wakes this process earlier.
const lingers = time.Millisecond

// Linger ends a promise, as Attend(false) does, for a caller that expects to attend again
// soon. The links keep their attention for a few milliseconds at most, so peers do not wake
// this process meanwhile. If a goroutine sleeps in a wait, the attention ends at once,
// because that goroutine needs links that move frames by themselves.
func (p *Poller) Linger() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.promises--; {
	case p.sleeping.Load() > 0: // the links have to wake the sleepers
		p.lapse()
	case p.promises == 0:
		p.keep()
	}
}

// lingerOn gives the links attention that outlasts the wait that calls it.
func (p *Poller) lingerOn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.attend()
	p.keep()
}

// keep lets the current attention linger. The caller holds mu.
func (p *Poller) keep() {
	p.lingering = true
	if !p.watched {
		p.watched = true
		p.watch()
	}
}

// watch ends the attention after an interval in which no wait has used it.
func (p *Poller) watch() {
	seen := p.waits.Load()
	time.AfterFunc(lingers, func() {
		if now := p.waits.Load(); now != seen || now&waitsPoll != 0 {
			p.watch()
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.lapse()
		if p.watched = p.lingering; p.watched {
			p.watch()
		}
	})
}

// lapse ends the attention unless a goroutine has promised it, or polls. A waiter
// counts itself before it checks for attention: either lapse sees its count, or
// the waiter sees that there is no attention, and restores it. The caller holds
// mu.
func (p *Poller) lapse() {
	p.lingering = false
	if p.promises > 0 || !p.attended.Load() {
		return
	}
	p.attended.Store(false)
	if p.waits.Load()&waitsPoll != 0 {
		p.attended.Store(true)
		p.keep()
		return
	}
	for _, l := range *p.links.Load() {
		l.Attend(false)
	}
}

// sleep is called by a waiter before it sleeps. A waiter that attends suspends its promise,
// and renews it with Attend(true) when it wakes. While it sleeps, the links move by
// themselves unless another goroutine has promised to poll.
func (p *Poller) sleep(attends bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if attends {
		if p.promises--; p.promises < 0 {
			panic("transport: a goroutine that has not promised to poll suspends its promise")
		}
	}
	p.lapse()
}
