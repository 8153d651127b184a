package sdr

import (
	"context"
	"fmt"
	"sync"
)

// Call is a request with what is needed to wait for it without allocating.
type Call struct {
	Request
	engine *Engine
	isDone func() bool
}

// NewCall returns a request for use with e.
func (e *Engine) NewCall() *Call {
	r := &Call{engine: e}
	r.isDone = func() bool {
		if e.ready.Load() > 0 {
			e.Advance()
		}
		return r.done.Load() || e.broken.Load()
	}
	return r
}

// Borrow returns a request for one blocking operation; Return gives it back.
func (e *Engine) Borrow() *Call {
	r := e.requests.Get().(*Call)
	r.done.Store(false)
	r.awaited = true
	return r
}

// Return takes back a request from Borrow that is complete. One that is not,
// because the job has ended, is left to whoever still holds it.
func (e *Engine) Return(r *Call) {
	if r.Done() {
		e.requests.Put(r)
	}
}

// Visible reports whether r is complete and may be shown to a program that
// does not wait for it alone, see Core.Visible.
func (e *Engine) Visible(r *Call) bool {
	if !r.Done() {
		return false
	}
	if r.causalPast == nil {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.core.Visible(&r.Request)
}

// Wait blocks until r is complete and returns what it came to, which the
// program then sees.
func (e *Engine) Wait(r *Call) (Status, error) {
	if !r.Done() {
		if err := e.waitUntil(e.cfg.Context, r.isDone); err != nil {
			return Status{}, err
		}
		if !r.Done() {
			return Status{}, e.failure()
		}
	}
	if r.causalPast != nil {
		e.mu.Lock()
		e.core.See(&r.Request)
		e.mu.Unlock()
	}
	return r.Result()
}

// WaitFor blocks until cond, which is called often and by this goroutine
// only, reports true.
func (e *Engine) WaitFor(cond func() bool) error {
	err := e.waitUntil(e.cfg.Context, func() bool {
		e.Advance()
		return cond() || e.broken.Load()
	})
	if err == nil && !cond() {
		err = e.failure()
	}
	return err
}

// Progress moves what can be moved without waiting.
func (e *Engine) Progress() {
	if p, ok := e.cfg.Poller.(interface{ Poll() bool }); ok {
		p.Poll()
	}
	e.Advance()
}

func (e *Engine) waitUntil(ctx context.Context, done func() bool) error {
	if err := e.cfg.Poller.Wait(ctx, done); err != nil {
		return fmt.Errorf("%w: %w", ErrJobEnded, context.Cause(ctx))
	}
	return nil
}

// bell is the Waiter of a rank alone: nothing arrives but what its own
// goroutines send.
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
