package sdr

import "slices"

// operate counts an operation that the program begins in ctx: a send, or a collective,
// which may begin an epoch. Then it matches receives from any source with the messages that
// were held back for this operation.
func (c *Core) operate(ctx *Context, epoch bool) {
	c.contexts.used = true
	if !c.history.on || ctx.thread == nil {
		return
	}
	c.history.operate(ctx.thread, epoch)
	if c.hidden {
		c.hidden, c.out.news = false, true
	}
	for i := 0; i < len(c.aside); {
		o := c.aside[i]
		c.ripen(o)
		if i < len(c.aside) && c.aside[i] == o { // ripen has not removed it
			i++
		}
	}
}

// ripen matches the receives from any source of a context with messages that have become
// deliverable.
func (c *Core) ripen(ctx *Context) {
	for req := range ctx.any.receives() {
		if m := c.unexpected(req); m != nil {
			req.place.leave()
			c.match(m, req)
		} else {
			c.setAsideFor(req)
		}
	}
}

// setAsideFor records the messages that a posted receive from any source has to leave: of
// each source, the first one that it accepts.
func (c *Core) setAsideFor(req *Request) {
	if !c.history.on {
		return
	}
	for _, s := range req.ctx.in {
		if s == nil {
			continue
		}
		if p := s.unexpected.find(req.place.key); p != nil {
			c.setAside(p.message)
		}
	}
}

// setAside records that a message is held back, if it depends on an operation that this
// replica has yet to begin.
func (c *Core) setAside(m *arrival) {
	ctx := m.stream.ctx
	if m.unripe || ctx.any.first == nil || c.history.ripe(m.past.in(ctx.thread)) {
		return
	}
	m.unripe = true
	if ctx.aside++; ctx.aside == 1 {
		c.aside = append(c.aside, ctx)
	}
}

// readmit records that a message is no longer held back.
func (c *Core) readmit(m *arrival) {
	if !m.unripe {
		return
	}
	m.unripe = false
	ctx := m.stream.ctx
	if ctx.aside--; ctx.aside == 0 {
		i := slices.Index(c.aside, ctx)
		c.aside = slices.Delete(c.aside, i, i+1)
	}
}
