package transport

import "time"

// Attention outlives its last promise, and a wait that succeeded, for a while:
// who has just stopped polling mostly starts again soon, and telling the peers
// of both would cost more than what they send in between.

// lingers is how often somebody looks whether the attention is still of use.
// What peers send meanwhile may have to wait for two of these, unless they go
// to sleep over it, which wakes this process.
const lingers = time.Millisecond

// Linger is Attend(false) by a caller that expects to attend again soon: until
// then, for some milliseconds at most, peers do not wake this process. Nobody
// who waits is kept from what arrives.
func (p *Poller) Linger() {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.promises--; {
	case p.sleeping.Load() > 0: // somebody whom the links have to wake
		p.lapse()
	case p.promises == 0:
		p.keep()
	}
}

// lingerOn gives the links attention that outlasts the wait which calls it.
func (p *Poller) lingerOn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.attend()
	p.keep()
}

// keep lets the attention that there is linger. The caller holds mu.
func (p *Poller) keep() {
	p.lingering = true
	if !p.watched {
		p.watched = true
		p.watch()
	}
}

// watch ends attention when nobody has made use of it for a while.
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

// lapse ends attention unless somebody has promised it, or polls. A waiter
// counts itself before it looks whether there is attention: either it is seen
// here, or it sees that there is none and comes for it. The caller holds mu.
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

// sleep is called by a waiter that falls asleep, and wakes by Attend(true) if
// it attends: from here on only the promises of others keep the links from
// moving by themselves.
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
