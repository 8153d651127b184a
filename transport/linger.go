package transport

import "time"

// The poller keeps its attention for a while after the last promise, and after
// a wait that succeeded: a goroutine that has just stopped polling mostly
// starts again soon. To report both to the peers would cost more than the
// frames that they send in between.

// lingers is the interval at which the poller checks whether the attention is still of
// use. A frame that arrives in between may have to wait for two intervals. But a peer
// that falls asleep meanwhile wakes this process.
const lingers = time.Millisecond

// Linger is Attend(false) by a caller that expects to attend again soon: until
// then, for some milliseconds at most, peers do not wake this process. Goroutines
// that wait still get what arrives.
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

// sleep is called by a waiter before it sleeps. A waiter that attends suspends its
// promise, and renews it with Attend(true) when it wakes. From here on only the
// promises of other goroutines keep the links from moving by themselves.
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
