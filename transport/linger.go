package transport

import "time"

// linger is attention that outlives its last promise for a while: who has
// just stopped polling mostly starts again soon, and telling the peers of both
// would cost more than what they send in between.
type linger struct {
	on    bool
	used  bool // somebody attended since the last look
	timer *time.Timer
}

// lingers is how often somebody looks whether the attention is still of use.
// What peers send meanwhile may have to wait for two of these.
const lingers = time.Millisecond

// Linger is Attend(false) by a caller that expects to attend again soon: until
// then, for some milliseconds at most, peers do not wake this process. Nobody
// who waits is kept from what arrives.
func (p *Poller) Linger() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.attending--
	switch {
	case p.sleeping.Load() > 0: // somebody whom the links have to wake
		p.linger.on = false
		p.tell(p.attending > 0)
		return
	case p.linger.on:
		return
	case p.linger.timer == nil:
		p.linger.timer = time.AfterFunc(lingers, p.look)
	default:
		p.linger.timer.Reset(lingers)
	}
	p.linger.on, p.linger.used = true, false
}

// look ends lingering attention if nobody has attended since the last look.
func (p *Poller) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.linger.on {
		return
	}
	if p.linger.used || p.attending > 0 {
		p.linger.used = false
		p.linger.timer.Reset(lingers)
		return
	}
	p.linger.on = false
	p.tell(false)
}

// sleep is called by a waiter that falls asleep, and wakes by Attend(true) if
// it attends: from here on only the promises of others keep the links from
// moving by themselves.
func (p *Poller) sleep(attends bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if attends {
		p.attending--
	}
	p.linger.on = false
	p.tell(p.attending > 0)
}
