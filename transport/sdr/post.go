package sdr

// Join enters the context with this id, on which the members of a
// communicator have agreed, see Core.Join.
func (e *Engine) Join(id, domain uint64, exact bool, members []int) (*Context, error) {
	e.mu.Lock()
	defer e.flushAndUnlock()
	if e.retired {
		return nil, e.err
	}
	return e.core.Join(id, domain, exact, members)
}

// Free leaves a context; operations under way in it are still completed.
func (e *Engine) Free(ctx *Context) {
	e.mu.Lock()
	if !e.retired {
		e.core.Free(ctx)
	}
	e.flushAndUnlock()
}

// NoAnySource asserts that no rank ever receives from any source, see Core.NoAnySource.
func (e *Engine) NoAnySource() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.retired {
		return e.err
	}
	return e.core.NoAnySource()
}

// Send posts a message, see Core.Send.
func (e *Engine) Send(ctx *Context, r *Request, data []byte, dst, tag int, sync bool) {
	e.mu.Lock()
	if !e.retired {
		e.core.Send(ctx, r, data, dst, tag, sync)
	}
	e.flushAndUnlock()
}

// SendNow sends a small message if that needs only the link to one process, and reports
// whether it did, see outgoing.SendNow.
func (e *Engine) SendNow(ctx *Context, data []byte, dst, tag int) bool {
	if e.cfg.Mid != nil || e.cfg.Flip != nil { // these act on the frame before it is sent
		return false
	}
	e.mu.Lock()
	if e.core.job.spent {
		e.pace(dst, len(data), false)
	}
	sent := !e.retired && e.core.outgoing.SendNow(ctx, data, dst, 0, tag)
	e.mu.Unlock()
	return sent
}

// Recv posts a receive, see matching.Recv.
func (e *Engine) Recv(ctx *Context, r *Request, buf []byte, src, tag int) {
	e.mu.Lock()
	if !e.retired {
		e.core.matching.Recv(ctx, r, buf, src, tag)
	}
	e.flushAndUnlock()
}

// Probe looks for a message and leaves it in place, see matching.Probe.
func (e *Engine) Probe(ctx *Context, src, tag int) (Status, bool) {
	e.mu.Lock()
	defer e.flushAndUnlock()
	if e.retired {
		return Status{}, false
	}
	return e.core.matching.Probe(ctx, src, tag)
}

// Cancel withdraws a receive that no message has matched.
func (e *Engine) Cancel(r *Request) bool {
	e.mu.Lock()
	defer e.flushAndUnlock()
	return !e.retired && e.core.matching.Cancel(r)
}

// Sent returns how many messages the program has sent to each rank, on the communicators
// that it has not freed. While no message is being posted the result is the same for every
// replica.
func (e *Engine) Sent() []uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.core.contexts.sent()
}
