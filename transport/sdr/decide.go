package sdr

// Agrees reports whether the replicas of this rank agree on questions by Decide.
func (e *Engine) Agrees() bool { return e.agrees.Load() }

// SendDeterministic asserts that the program needs no decisions, see
// Core.SendDeterministic. If Config.SumAsserted is set, the replicas of a rank compare
// their messages from then on. at is the place of the assertion in the program.
func (e *Engine) SendDeterministic(at string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.retired:
		return e.err
	case e.cfg.Always:
		return nil
	}
	err := e.core.SendDeterministic()
	if err == nil && e.cfg.SumAsserted != nil {
		e.core.comparer.begin(at)
	}
	e.agrees.Store(e.core.matching.agreed != nil)
	return err
}

// Decide returns the answer to a question of the program: the result of outcome at the
// leader. The answer is the same at all replicas of this rank. Decide returns once all live
// replicas hold the answer. While outcome returns no bytes, Decide calls it again after
// each event. hopeless and awaited are those of WaitFor. The caller acts on the answer and
// then calls CaughtUp, after an error, too.
func (e *Engine) Decide(ctx *Context, outcome func() []byte, hopeless func() error, awaited func() Awaited) ([]byte, error) {
	e.mu.Lock()
	if e.retired {
		defer e.mu.Unlock()
		return nil, e.err
	}
	number := e.core.matching.agreed.Inquire(ctx)
	e.mu.Unlock()
	var value []byte
	settled := false
	look := func() bool {
		e.mu.Lock()
		if e.retired {
			e.mu.Unlock()
			return false
		}
		value, settled = e.core.matching.agreed.Answered(ctx, number)
		may := !settled && e.core.matching.agreed.MayAnswer(ctx, number)
		e.mu.Unlock()
		if !may {
			return settled
		}
		v := outcome()
		if len(v) == 0 {
			return false
		}
		e.mu.Lock()
		if !e.retired {
			e.core.matching.agreed.Answer(ctx, number, v)
			value, settled = e.core.matching.agreed.Answered(ctx, number)
		}
		e.flushAndUnlock()
		return settled
	}
	err := e.WaitFor(func() bool { return settled || look() }, hopeless, awaited)
	return value, err
}

// CaughtUp records that the program has acted on the last answer of Decide in a context.
func (e *Engine) CaughtUp(ctx *Context) {
	e.mu.Lock()
	if e.core.matching.agreed != nil && !e.retired {
		e.core.matching.CatchUp(ctx)
	}
	e.flushAndUnlock()
}

// Diverged makes every call of this process fail with err, because its state differs from that of its
// siblings.
func (e *Engine) Diverged(err error) {
	e.mu.Lock()
	e.fail(err)
	e.flushAndUnlock()
	e.cfg.Poller.Wake()
}
