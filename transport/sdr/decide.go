package sdr

// Agrees reports whether the replicas of this rank decide together what depends on time, with
// Decide.
func (e *Engine) Agrees() bool { return e.agrees.Load() }

// SendDeterministic says that what the program does outside of its ranks does not depend on the
// order of messages, see Core.SendDeterministic.
func (e *Engine) SendDeterministic() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.core.SendDeterministic()
	e.agrees.Store(e.core.agreed != nil)
	return err
}

// Decide returns what a question of the program comes to, which is the same at all replicas of
// this rank: what outcome returns at one of them, and not before all that live know of it. Where
// outcome returns nothing it is asked again when something has happened. hopeless and awaited
// are those of WaitFor.
func (e *Engine) Decide(ctx *Context, outcome func() []byte, hopeless func() error, awaited func() Awaited) ([]byte, error) {
	e.mu.Lock()
	number := e.core.Inquire(ctx)
	e.mu.Unlock()
	var value []byte
	settled := false
	look := func() bool {
		e.mu.Lock()
		value, settled = e.core.Answered(ctx, number)
		may := !settled && e.core.MayAnswer(ctx, number)
		e.mu.Unlock()
		if !may {
			return settled
		}
		v := outcome()
		if len(v) == 0 {
			return false
		}
		e.mu.Lock()
		e.core.Answer(ctx, number, v)
		value, settled = e.core.Answered(ctx, number)
		e.flushAndUnlock()
		return settled
	}
	err := e.WaitFor(func() bool { return settled || look() }, hopeless, awaited)
	return value, err
}

// Diverged ends the work of this process, which can no longer be what its peers are.
func (e *Engine) Diverged(err error) {
	e.mu.Lock()
	e.fail(err)
	e.flushAndUnlock()
	e.cfg.Poller.Wake()
}
