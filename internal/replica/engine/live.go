package engine

import (
	"errors"
	"fmt"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport/sdr"
)

// Begin starts the links. It also starts the messaging engine, unless this process
// receives its position later.
func (e *Engine) Begin() error {
	if !e.setup.Joiner {
		if err := e.recovering.holdFolder(); err != nil {
			return err
		}
	}
	switch {
	case e.setup.Joiner:
	case e.setup.Restart != nil:
		if err := e.recovering.restart(); err != nil {
			return err
		}
	default:
		e.messages.Store(sdr.NewEngine(e.messaging()))
	}
	for p, w := range e.peerLinks.current() {
		e.begin(w.Link, p, w.Incarnation)
	}
	go e.report()
	return nil
}

// Live runs the process in the job. It runs the program, and runs it again after each
// rollback. It serves the other processes until this one is released.
func (e *Engine) Live(program func(*Program) error, released <-chan struct{}) error {
	var err error
	if e.setup.Joiner {
		if err = e.recovering.join(released); errors.Is(err, errDismissed) {
			return nil
		}
		e.recovering.traceJoin()
	}
	for {
		if err == nil {
			err = e.run(program)
		}
		if e.recovering.goesAlone() {
			if err = e.recovering.goAlone(); err == nil {
				continue
			}
		}
		if err == nil {
			// From here on a report on a message that only a sibling has sent is an error. The
			// head may release this process as soon as it has finished.
			e.messages.Load().HandedOver()
			e.trace.flush(e.head)
			if err = e.recovering.written(); err != nil {
				return err
			}
			if err = e.leased(e.ctx); err != nil {
				return err
			}
			if err = e.head.Finish(e.Snapshot()); err != nil {
				return fmt.Errorf("report the end: %w", err)
			}
			if err = e.linger(released); err == nil {
				e.recovering.releaseFiles()
			}
		}
		if !e.recovering.goesBack() {
			return err
		}
		if err = e.recovering.goBack(); err != nil {
			return err
		}
	}
}

// linger serves the other processes after the program has returned, until the head
// releases this one or the job rolls back.
func (e *Engine) linger(released <-chan struct{}) error {
	messages, reported := e.messages.Load(), false
	for {
		seen := e.changes.Load()
		select {
		case <-released:
			e.mu.Lock()
			defer e.mu.Unlock()
			return diverged(e.err) // the error was found after the program had returned
		default:
		}
		if e.recovering.goesBack() {
			return errBack
		}
		if err := e.stands(); err != nil {
			return err
		}
		if !reported && messages.Received() {
			reported = true
			if err := e.head.Drained(); err != nil {
				return fmt.Errorf("report that all messages are handed over: %w", err)
			}
		}
		if err := e.poller.Wait(e.ctx, func() bool { return e.changedSince(seen) || !reported && messages.Received() }); err != nil {
			return e.ended(err)
		}
	}
}

// run runs the program. When the program has returned, run informs the other replicas of
// the rank that it sends nothing more.
func (e *Engine) run(program func(*Program) error) error {
	p, err := e.recovering.newProgram(e)
	if err == nil {
		err = program(p)
	}
	if e.recovering.goesAlone() {
		return errAlone
	}
	if err != nil && p != nil && p.second != nil && !errors.Is(err, ErrRollback) && !errors.Is(err, ErrDiverged) {
		err = fmt.Errorf("%w (this process has run again from safe point %d: %s)", err, p.second.from.number, job.ForgottenState)
	}
	e.tellAll()
	if err == nil {
		err = e.watch.leave()
	}
	if err == nil {
		err = e.returned(p)
	}
	if err != nil {
		return e.disputeFailure(err)
	}
	return nil
}

// tellAll waits until all live processes have received the hashes of the messages that
// this process has received. Only then does the outcome of the program count. If a wrong
// message has made the program fail, the replicas of its sender find the message first. If the
// program has returned, they find wrong messages before any process is released.
func (e *Engine) tellAll() {
	m := e.messages.Load()
	if m == nil {
		return
	}
	e.mu.Lock()
	ctx := e.runCtx
	e.mu.Unlock()
	_ = m.SumsReceived(ctx) // the job ends or rolls back, and the caller finds out
}

// returned records that the program has returned, and informs the other replicas of the
// rank.
func (e *Engine) returned(p *Program) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.recovering.back.Pending() {
		return errBack
	}
	if e.err != nil {
		return diverged(e.err)
	}
	if err := p.repeated(e.messages.Load()); err != nil {
		return err
	}
	e.finished = true
	e.notes.returned()
	if e.stores != nil {
		e.stores.returned()
	}
	e.stats.total.Points, e.stats.total.Place, e.stats.total.Restored = p.points.Load(), p.place(), p.began
	e.bye()
	return nil
}
