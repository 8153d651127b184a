package sdr

import "slices"

// operate counts an operation that the program begins in ctx: a send, or a collective,
// which may begin an epoch. Then it matches receives from any source with the messages that
// were held back for this operation.
func (x *matching) operate(ctx *Context, epoch bool) {
	x.contexts.used = true
	if !x.history.on || ctx.domain == nil {
		return
	}
	x.history.operate(ctx.domain, epoch)
	if x.hidden {
		x.hidden, x.out.wake = false, true
	}
	for i := 0; i < len(x.aside); {
		o := x.aside[i]
		x.matchDeliverable(o)
		if i < len(x.aside) && x.aside[i] == o { // matchDeliverable has not removed the context
			i++
		}
	}
}

// matchDeliverable matches the receives from any source of a context with messages that have become
// deliverable.
func (x *matching) matchDeliverable(ctx *Context) {
	for req := range ctx.any.receives() {
		if m := x.unexpected(req); m != nil {
			req.place.leave()
			x.match(m, req)
		} else {
			x.setAsideFor(req)
		}
	}
}

// setAsideFor records the messages that a posted receive from any source must not match
// yet. For each source it checks the first message that the receive accepts.
func (x *matching) setAsideFor(req *Request) {
	if !x.history.on {
		return
	}
	for _, s := range req.ctx.in {
		if s == nil {
			continue
		}
		if p := s.unexpected.find(req.place.key); p != nil {
			x.setAside(p.message)
		}
	}
}

// setAside records that a message is held back if it depends on an operation that this
// replica has yet to begin.
func (x *matching) setAside(m *arrival) {
	ctx := m.stream.ctx
	if m.heldBack || ctx.any.first == nil || x.history.deliverable(m.past.in(ctx.domain)) {
		return
	}
	m.heldBack = true
	if ctx.aside++; ctx.aside == 1 {
		x.aside = append(x.aside, ctx)
	}
}

// readmit records that a message is no longer held back.
func (x *matching) readmit(m *arrival) {
	if !m.heldBack {
		return
	}
	m.heldBack = false
	ctx := m.stream.ctx
	if ctx.aside--; ctx.aside == 0 {
		i := slices.Index(x.aside, ctx)
		x.aside = slices.Delete(x.aside, i, i+1)
	}
}
