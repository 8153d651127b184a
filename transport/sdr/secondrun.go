package sdr

import (
	"context"
	"fmt"
)

// Runs lets the program of an engine run again from a Place.
type Runs struct{ e *Engine }

// Runs returns the runs of the program that uses the engine.
func (e *Engine) Runs() Runs { return Runs{e} }

// Settle makes a Place where the program is now, from which it can run again. From then on the
// engine keeps what another run needs: copies of the messages that the program receives, and a
// hash of each message that it sends. No receive, synchronous send or collective may be under way,
// or Settle returns an error that wraps ErrPending. It returns a *Deviation if an earlier run of
// the program has sent a message that this run has not sent yet. The beginning of a cut makes all
// places invalid.
//
// The replicas of the rank have to agree on the order of messages, and messages must not be
// compared by Config.Sum.
func (r Runs) Settle() (*Place, error) {
	e := r.e
	if err := e.Pending(); err != nil {
		return nil, fmt.Errorf("settled point: %w", err)
	}
	e.mu.Lock()
	at, err := e.core.settle()
	attached := e.attached
	e.flushAndUnlock()
	if err != nil {
		return nil, fmt.Errorf("settled point: %w", err)
	}
	if attached != nil {
		at.program = attached.AppendPosition(nil)
	}
	return at, nil
}

// Forget records that the program will not run again from a place before at.
func (r Runs) Forget(at *Place) {
	r.e.mu.Lock()
	defer r.e.flushAndUnlock()
	r.e.core.forget(at)
}

// End records that the program will not run again. It is called in a run that has repeated all
// sends of the earlier one.
func (r Runs) End() {
	r.e.mu.Lock()
	defer r.e.flushAndUnlock()
	r.e.core.endJournal()
}

// Bytes returns the size of what is kept for another run of the program.
func (r Runs) Bytes() int {
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	return r.e.core.journal.bytes
}

// Behind returns the number of messages that an earlier run of the program has sent and this
// one has not.
func (r Runs) Behind() int {
	r.e.mu.Lock()
	defer r.e.mu.Unlock()
	return r.e.core.behind
}

// Retire ends the run of the program, which has a Place: blocked calls and all later calls
// return an error that wraps err. Unlike after Abort, the engine still receives, and serves
// other processes.
func (r Runs) Retire(err error) error {
	e := r.e
	e.mu.Lock()
	switch {
	case e.aborted || e.retired:
		defer e.mu.Unlock()
		return e.err
	case !e.core.journal.on:
		e.mu.Unlock()
		return errNoPlace
	}
	if e.err != nil {
		e.late = e.err
	}
	e.retired, e.err = true, err
	e.broken.Store(true)
	e.core.retire()
	e.next.Store(nil)
	e.ready.Add(-int32(len(e.due)))
	e.due = nil
	e.flushAndUnlock()
	e.cfg.Poller.Wake()
	return nil
}

// Again returns the engine of the next run of the program, which begins at a place. It has
// the messages and the links of the present engine, which is not used from then on. Again is called
// after Retire. It waits until no link holds a message, because the present engine serves other
// processes until then. Messages that the earlier run has sent beyond the place are not sent
// again, but compared: if one of them differs, every call returns a *Deviation.
func (r Runs) Again(ctx context.Context, at *Place) (next *Engine, err error) {
	e := r.e
	ended := e.waitUntil(ctx, func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		switch {
		case next != nil:
		case e.aborted:
			err = e.err
		case e.late != nil:
			err = e.late
		case !e.retired || e.heir != nil || at.received < e.core.journal.received.first:
			err = errNoPlace
		case !e.releases():
			return false
		default:
			next = e.nextRun(at)
		}
		return true
	})
	if err == nil {
		err = ended
	}
	return next, err
}

// nextRun hands the core of e over to a new engine. The lock is held.
func (e *Engine) nextRun(at *Place) *Engine {
	n := &Engine{cfg: e.cfg, core: e.core, patient: e.patient, links: e.links, prompt: e.prompt, lent: make([]bool, len(e.lent)),
		saved: at.program, unused: newUnused(), completed: e.completed}
	n.core.rerun(at)
	n.core.out.now = n.handOver
	n.ends.Store(e.ends.Load())
	n.agrees.Store(true)
	n.restored.Store(true)
	e.heir, e.core = n, NewCore(e.cfg.Rank, e.cfg.Replica, 0, e.cfg.Degrees, false, Limits{})
	return n
}

// lock locks the engine that has the core: e, or the one of a later run of the program.
func (e *Engine) lock() *Engine {
	e.mu.Lock()
	for e.heir != nil {
		heir := e.heir
		e.mu.Unlock()
		e = heir
		e.mu.Lock()
	}
	return e
}

// releases reports whether no link uses memory of the program. The lock is held.
func (e *Engine) releases() bool {
	for _, lent := range e.lent {
		if lent {
			return false
		}
	}
	return e.handed == 0 && !e.flushing
}
