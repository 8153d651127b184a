package sdr

// Sync is what the end of a collective implies at a rank.
type Sync uint8

// The kinds of collectives. Each clock domain has one communicator of all ranks whose
// collectives begin its epochs, in the same order at all ranks. All other collectives are
// SyncNone.
const (
	// SyncNone: the end implies nothing.
	SyncNone Sync = iota
	// SyncElsewhere: at another rank the end implies that all ranks have begun the
	// collective.
	SyncElsewhere
	// SyncHere: at this rank the end implies that all ranks have begun it.
	SyncHere
	// SyncAll: at every rank the end implies that all ranks have begun it.
	SyncAll
)

// BeginCollective counts a collective that the program begins in ctx. Its messages depend
// on what the program has seen by now, and on each other. The messages of a collective that
// synchronises all ranks leave out what its end implies anyway.
func (c *Core) BeginCollective(ctx *Context, s *Script) {
	c.matching.operate(ctx, s.Sync != SyncNone)
	ctx.plans++
	s.ctx, s.Failed = ctx, false
	c.history.drop(s.past)
	s.past, s.epoch = nil, 0
	if ctx.thread == nil {
		return
	}
	s.epoch = ctx.thread.own.epoch
	if s.Sync == SyncAll {
		s.past = c.history.causalPast(ctx.thread, s.epoch)
	} else {
		s.past = c.history.causalPast(ctx.thread, 0)
	}
}

// EndCollective completes a collective. The program sees the messages of the collective
// when it sees its completion.
func (c *Core) EndCollective(s *Script) {
	r := &s.done.Request
	c.matching.forget(r)
	switch {
	case s.Failed && s.Sync == SyncAll: // its history contains what the end would imply, but does not
		c.history.drop(s.past)
		s.past = nil
	case s.Sync == SyncHere && !s.Failed && c.history.on && s.ctx.thread != nil:
		s.past = c.history.joined(s.past, &past{thread: s.ctx.thread.id, base: s.epoch})
	}
	r.past, r.age, s.past = s.past, c.history.age, nil
	c.out.complete(r, Status{}, nil)
	if s.ctx.plans--; c.job.draining {
		c.finishing.answer()
	}
}
