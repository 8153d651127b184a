package sdr

import (
	"context"
	"fmt"
	"sync"
)

// Call is a request with the state that makes waiting for it allocation-free.
type Call struct {
	Request
	engine *Engine
	seen   uint64      // value of Engine.ends when this wait began
	again  func() bool // reports that the request is done, or that ends has changed since the wait began
}

// NewBlockingCall returns a call for operations that the program waits for at once. It
// serves one operation at a time.
func (e *Engine) NewBlockingCall() *Call {
	r := e.NewCall()
	r.awaited = true
	return r
}

// NewCall returns a call for use with e. It must not be inlined into another package: the
// calls inside its function would not be inlined there, which would add five calls to each
// poll.
//
//go:noinline
func (e *Engine) NewCall() *Call {
	r := &Call{engine: e}
	r.again = func() bool {
		if r.done.Load() {
			return true
		}
		if e.advances() {
			e.Advance()
		}
		return r.done.Load() || e.broken.Load() || e.ends.Load() != r.seen
	}
	return r
}

// Visible reports whether r is complete and the program may see that, even if the program
// does not wait for r alone, see matching.Visible.
func (e *Engine) Visible(r *Call) bool {
	if !r.Done() {
		return false
	}
	if r.past == nil {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.core.matching.Visible(&r.Request)
}

// Wait blocks until r is complete and returns its result, which the program then sees. If r
// can never be complete, Wait returns a *FinishedError. A broken engine returns its error
// even if r is complete.
func (e *Engine) Wait(r *Call) (Status, error) {
	if err := e.Over(); err != nil {
		return Status{}, err
	}
	if !r.Done() {
		if err := e.await(r); err != nil {
			_ = e.Over()
			return Status{}, err
		}
	}
	if r.past != nil {
		e.mu.Lock()
		e.core.matching.See(&r.Request)
		e.mu.Unlock()
	}
	return r.Result()
}

// await blocks until r is complete. Every second it checks whether r can still complete.
func (e *Engine) await(r *Call) error {
	if o := e.cfg.Observer; o != nil {
		defer o.Waited()()
	}
	var stall *Stall
	for {
		r.seen = e.ends.Load()
		err := e.waitFor(r.again)
		if err == nil && !r.Done() {
			err = e.Failure()
		}
		if err != nil || r.Done() {
			e.resumed(stall)
			return err
		}
		e.mu.Lock()
		if e.retired { // the next look finds that the engine is broken
		} else if err := e.core.finishing.Hopeless(&r.Request); err != nil && !r.Done() {
			e.core.finishing.GiveUp(&r.Request, err)
		} else if !r.Done() {
			stall = e.stalled(stall, e.core.finishing.Awaited(&r.Request))
		}
		e.flushAndUnlock()
	}
}

// WaitFor blocks until cond reports true. Only the calling goroutine calls cond, but often.
// If the wait takes long, WaitFor calls hopeless and awaited from time to time, and returns
// the error of hopeless if there is one. Both may be nil.
func (e *Engine) WaitFor(cond func() bool, hopeless func() error, awaited func() Awaited) error {
	if o := e.cfg.Observer; o != nil && !cond() {
		defer o.Waited()()
	}
	var stall *Stall
	defer func() { e.resumed(stall) }()
	for {
		seen := e.ends.Load()
		err := e.waitFor(func() bool {
			e.Advance()
			return cond() || e.broken.Load() || e.ends.Load() != seen
		})
		switch {
		case err != nil:
			return err
		case cond():
			return nil
		case e.broken.Load():
			return e.Over()
		case hopeless != nil:
			err = hopeless()
		}
		if err != nil && !cond() {
			return err
		}
		if awaited != nil {
			lacks := awaited()
			e.mu.Lock()
			stall = e.stalled(stall, lacks)
			e.mu.Unlock()
		}
	}
}

// Hopeless returns a *FinishedError if r, which is not complete, is known to never
// complete. See finishing.Hopeless.
func (e *Engine) Hopeless(r *Call) error {
	e.mu.Lock()
	defer e.flushAndUnlock()
	if e.retired {
		return nil
	}
	return e.core.finishing.Hopeless(&r.Request)
}

// NothingComes is like Hopeless, for a receive that has not been posted.
func (e *Engine) NothingComes(ctx *Context, src, tag int) error {
	e.mu.Lock()
	defer e.flushAndUnlock()
	if e.retired {
		return nil
	}
	return e.core.finishing.hopelessReceive(&Request{ctx: ctx, source: src, tag: tag})
}

// Progress does all work that is possible without waiting.
func (e *Engine) Progress() {
	if p, ok := e.cfg.Poller.(interface{ Poll() bool }); ok {
		p.Poll()
	}
	e.Advance()
}

// waitFor is like waitUntil, but may return before done reports true if the wait takes
// long.
func (e *Engine) waitFor(done func() bool) error {
	if e.patient == nil {
		return e.waitUntil(e.cfg.Context, done)
	}
	if err := e.patient.WaitFor(e.cfg.Context, patience, done); err != nil {
		return fmt.Errorf("%w: %w", ErrJobEnded, context.Cause(e.cfg.Context))
	}
	return nil
}

func (e *Engine) waitUntil(ctx context.Context, done func() bool) error {
	if err := e.cfg.Poller.Wait(ctx, done); err != nil {
		return fmt.Errorf("%w: %w", ErrJobEnded, context.Cause(ctx))
	}
	return nil
}

// bell is the Waiter of a rank alone, which receives only messages from its own goroutines.
type bell struct {
	mu   sync.Mutex
	ring chan struct{}
}

func newBell() *bell { return &bell{ring: make(chan struct{})} }

func (b *bell) Wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.ring)
	b.ring = make(chan struct{})
}

func (b *bell) Wait(ctx context.Context, done func() bool) error {
	for {
		b.mu.Lock()
		ring := b.ring
		b.mu.Unlock()
		if done() {
			return nil
		}
		select {
		case <-ring:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
