package sdr

import (
	"context"
	"fmt"
)

// Abort ends the work of the engine: blocked calls and all later calls return an error that
// wraps err. The engine sends and receives nothing more.
func (e *Engine) Abort(err error) {
	e = e.lock()
	if !e.aborted {
		e.err, e.aborted = err, true
	}
	e.broken.Store(true)
	e.flushAndUnlock()
	e.cfg.Poller.Wake()
}

// Released returns, after Abort or Retire, when no link reads from or writes into memory of the
// program any more.
func (e *Engine) Released(ctx context.Context) error {
	err := e.waitUntil(ctx, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.releases()
	})
	if err != nil {
		return fmt.Errorf("wait for the links to release memory: %w", err)
	}
	return nil
}

// Over is like Failure, for a call that is about to return to the program. After Abort or Retire,
// Over waits until no link uses memory of the program. Otherwise the program could
// overwrite memory that a link has yet to send. A peer that does not know of the end yet
// would take those bytes for a message.
func (e *Engine) Over() error {
	if !e.broken.Load() {
		return nil
	}
	return e.fails()
}

// over reports whether the run of the program has ended, so that Released may wait for the
// links. The lock is held.
func (e *Engine) over() bool { return e.aborted || e.retired }

// fails continues Over in a broken engine. Over of a sound engine makes no call.
func (e *Engine) fails() error {
	e.mu.Lock()
	err, over := e.err, e.over()
	e.mu.Unlock()
	if over {
		_ = e.Released(e.cfg.Context) // fails only if the job ends, and then the program ends, too
	}
	return err
}
