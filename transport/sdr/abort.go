package sdr

import (
	"context"
	"fmt"
)

// Abort ends the work of the engine: blocked calls and all later calls return an error that
// wraps err. The engine sends and receives nothing more.
func (e *Engine) Abort(err error) {
	e.mu.Lock()
	if !e.aborted {
		e.err, e.aborted = err, true
	}
	e.broken.Store(true)
	e.flushAndUnlock()
	e.cfg.Poller.Wake()
}

// Released must be called after Abort. It returns when no link reads from or writes into
// memory of the program any more.
func (e *Engine) Released(ctx context.Context) error {
	err := e.waitUntil(ctx, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, lent := range e.lent {
			if lent {
				return false
			}
		}
		return e.handed == 0 && !e.flushing
	})
	if err != nil {
		return fmt.Errorf("wait for the links to release memory: %w", err)
	}
	return nil
}

// Over is like Failure, for a call that is about to return to the program. After Abort,
// Over waits until no link uses memory of the program. Otherwise the program could
// overwrite memory that a link has yet to send. A peer that does not know of the end yet
// would take those bytes for a message.
func (e *Engine) Over() error {
	if !e.broken.Load() {
		return nil
	}
	return e.over()
}

// over is Over for a broken engine. In a sound engine Over makes no call.
func (e *Engine) over() error {
	e.mu.Lock()
	err, aborted := e.err, e.aborted
	e.mu.Unlock()
	if aborted {
		_ = e.Released(e.cfg.Context) // fails only if the job ends, and then the program ends, too
	}
	return err
}
