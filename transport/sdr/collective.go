package sdr

// Sync states what the end of a collective at one rank implies: which ranks have begun the
// collective by then.
type Sync uint8

// The kinds of collectives. A collective of any kind but SyncNone begins an epoch of its clock
// domain. All ranks must begin these collectives in the same order. So at most one communicator of
// a domain has such collectives, and only if it contains all ranks.
const (
	// SyncNone: the end implies nothing about other ranks.
	SyncNone Sync = iota
	// SyncElsewhere: the end at another rank implies that all ranks have begun the
	// collective. The end at this rank does not.
	SyncElsewhere
	// SyncHere: the end at this rank implies that all ranks have begun the collective. The
	// end at another rank does not.
	SyncHere
	// SyncAll: the end implies at every rank that all ranks have begun the collective.
	SyncAll
)

// BeginCollective counts a collective that the program begins in ctx. Its messages depend on
// everything that the program has seen so far, and on each other. If the collective synchronises
// all ranks, its messages leave out the history that the end of the collective implies.
func (c *Core) BeginCollective(ctx *Context, s *Script) {
	c.matching.operate(ctx, s.Sync != SyncNone)
	ctx.plans++
	s.ctx, s.Failed = ctx, false
	c.history.drop(s.past)
	s.past, s.epoch = nil, 0
	if ctx.domain == nil {
		return
	}
	s.epoch = ctx.domain.own.epoch
	if s.Sync == SyncAll {
		s.past = c.history.causalPast(ctx.domain, s.epoch)
	} else {
		s.past = c.history.causalPast(ctx.domain, 0)
	}
}

// EndCollective completes a collective. The program sees the messages of the collective
// when it sees that the collective is complete.
func (c *Core) EndCollective(s *Script) {
	r := &s.done.Request
	c.matching.forget(r)
	switch {
	case s.Failed && s.Sync == SyncAll: // the history of s claims that all ranks have begun, but the end of s does not ensure this
		c.history.drop(s.past)
		s.past = nil
	case s.Sync == SyncHere && !s.Failed && c.history.on && s.ctx.domain != nil:
		s.past = c.history.joined(s.past, &past{domain: s.ctx.domain.id, base: s.epoch})
	}
	r.past, r.age, s.past = s.past, c.history.age, nil
	c.out.complete(r, Status{}, nil)
	if s.ctx.plans--; c.job.draining {
		c.finishing.answer()
	}
}
