package sdr

import (
	"context"
	"fmt"
)

// Attachment is the state that the layer above adds to a position.
type Attachment interface {
	// Pending returns an error if an operation is under way that must not be pending across
	// a safe point.
	Pending() error
	// AppendPosition appends the state that a process needs to begin at this position.
	AppendPosition(b []byte) []byte
	// Recall prepares for a program that is run again from its start. The program will find
	// the objects that it created before.
	Recall()
}

// Attach makes the state of a a part of the positions of this engine.
func (e *Engine) Attach(a Attachment) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.attached = a
}

// Saved returns the bytes that the Attachment appended to the position at which the engine
// began, or nil if the engine began at the start of the job.
func (e *Engine) Saved() []byte { return e.saved }

// NewEngineAt returns the engine of a process that begins at a position of its rank. The
// engine is inside the cut: it receives messages, and sends none before Cut.
func NewEngineAt(cfg Config, at *Position) (*Engine, error) {
	e := NewEngine(cfg)
	if err := e.core.cuts.Restore(at); err != nil {
		return nil, err
	}
	e.saved = at.program
	e.restored.Store(true)
	return e, nil
}

// Restored reports whether the engine began at a position and the program has not reached a
// safe point since.
func (e *Engine) Restored() bool { return e.restored.Load() }

// Resume records that the program of a restored process has reached its first safe point.
func (e *Engine) Resume() { e.restored.Store(false) }

// Recall puts the engine into the state of a restored process, until Resume. It serves to
// run a program again from its start, as a test whether the program can be restored.
func (e *Engine) Recall() {
	e.mu.Lock()
	attached := e.attached
	e.mu.Unlock()
	if attached != nil {
		attached.Recall()
	}
	e.restored.Store(true)
}

// Pending returns an error that wraps ErrPending if an operation is under way that must not
// be pending across a safe point.
func (e *Engine) Pending() error {
	e.mu.Lock()
	err, attached := e.err, e.attached
	if err == nil {
		err = e.core.cuts.Pending()
	}
	e.mu.Unlock()
	if err == nil && attached != nil {
		err = attached.Pending()
	}
	return err
}

// Drain begins the cut with this number, which grows from cut to cut and is the same at all
// processes. It returns when all messages that were sent to this rank before the cut have
// arrived. The program calls it at the safe point of the cut, and sends and receives
// nothing until Cut or CancelCut.
func (e *Engine) Drain(ctx context.Context, cut uint64) error {
	err := e.Pending()
	if err == nil {
		e.mu.Lock()
		if err = e.core.caughtUp(); err == nil {
			e.core.endJournal()
			err = e.core.cuts.BeginCut(cut)
		}
		e.flushAndUnlock()
	}
	if err != nil {
		return fmt.Errorf("safe point: %w", err)
	}
	done, wrong := false, error(nil)
	err = e.waitUntil(ctx, func() bool {
		e.mu.Lock()
		defer e.flushAndUnlock()
		switch {
		case done:
		case e.err != nil:
			wrong = e.err
		case e.core.cuts.now == nil || e.core.cuts.now.number != cut:
			wrong = ErrCancelled
		default:
			done, wrong = e.core.cuts.Arrived()
		}
		done = done || wrong != nil
		return done
	})
	if err == nil {
		err = wrong
	}
	if err == nil {
		err = e.Pending()
	}
	if err != nil {
		return fmt.Errorf("safe point: %w", err)
	}
	return nil
}

// Position returns the position of this rank at the cut, after Drain and
// before Cut.
func (e *Engine) Position() (*Position, error) {
	e.mu.Lock()
	pos, err := e.core.cuts.Position()
	attached := e.attached
	e.mu.Unlock()
	if err == nil && attached != nil {
		pos.program = attached.AppendPosition(nil)
	}
	return pos, err
}

// Cut ends the cut when every live process has drained: it frees the kept messages, and
// from now on the joiners are live. All processes, including the joiners, call it with the
// same list.
func (e *Engine) Cut(joined ...Joiner) error {
	e.mu.Lock()
	err := e.err
	if err == nil {
		if err = e.core.Cut(joined); err != nil {
			e.fail(err)
		}
	}
	e.flushAndUnlock()
	return err
}

// CancelCut cancels a cut, whatever its state.
func (e *Engine) CancelCut() {
	e.mu.Lock()
	e.core.cuts.CancelCut()
	e.flushAndUnlock()
	e.cfg.Poller.Wake()
}
