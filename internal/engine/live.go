package engine

import (
	"errors"
	"fmt"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr"
	"github.com/intrahpc/intra/update"
)

// messaging describes this process to its messaging engine.
func (e *Engine) messaging() sdr.Config {
	return sdr.Config{
		Rank: e.setup.Self.Rank, Replica: e.setup.Self.Replica,
		Incarnation: e.setup.Incarnation,
		Degrees:     e.setup.Degrees,
		Link:        func(rank, replica int) transport.Link { return e.linkTo(job.Process{Rank: rank, Replica: replica}) },
		Poller:      e.poller,
		Context:     e.ctx,
		Mid:         func() func() bool { return e.kills.mid(job.KillMessage) },
	}
}

// Begin starts the links and, unless this process is given its place later,
// the messaging engine.
func (e *Engine) Begin() error {
	switch {
	case e.setup.Joiner:
	case e.setup.Restart != nil:
		if err := e.restart(); err != nil {
			return err
		}
	default:
		e.msgs.Store(sdr.NewEngine(e.messaging()))
	}
	e.peerLinks.mu.Lock()
	defer e.peerLinks.mu.Unlock()
	for p, w := range e.peerLinks.to {
		w.link.Start(&receiver{e: e, from: p, incarnation: w.incarnation})
		e.poller.Add(w.link)
	}
	go e.report()
	return nil
}

// Live is the life of the process in the job: it runs the program, again if
// the job goes back, and serves the others until it is released.
func (e *Engine) Live(program func(*Program) error, released <-chan struct{}) error {
	var err error
	if e.setup.Joiner {
		if err = e.join(released); errors.Is(err, errDismissed) {
			return nil
		}
	}
	for {
		if err == nil {
			err = e.run(program)
		}
		if err == nil {
			e.trace.flush(e.head)
			if err = e.written(); err != nil {
				return err
			}
			if err = e.leased(e.ctx); err != nil {
				return err
			}
			if err = e.head.Finish(e.Snapshot()); err != nil {
				return fmt.Errorf("report the end: %w", err)
			}
			err = e.linger(released)
		}
		if !e.goesBack() {
			return err
		}
		if err = e.goBack(); err != nil {
			return err
		}
	}
}

// linger serves the others after the program has returned, until the head
// releases this process or the job goes back.
func (e *Engine) linger(released <-chan struct{}) error {
	msgs, told := e.msgs.Load(), false
	for {
		seen := e.changes.Load()
		select {
		case <-released:
			return nil
		default:
		}
		if e.goesBack() {
			return errBack
		}
		if !told && msgs.Received() {
			told = true
			if err := e.head.Drained(); err != nil {
				return fmt.Errorf("report that all messages are handed over: %w", err)
			}
		}
		if err := e.poller.Wait(e.ctx, func() bool { return e.changes.Load() != seen || !told && msgs.Received() }); err != nil {
			return e.ended(err)
		}
	}
}

// newProgram begins a run of the program.
func (e *Engine) newProgram() (*Program, error) {
	world, err := comm.World(e.msgs.Load())
	if err != nil {
		return nil, fmt.Errorf("make the world communicator: %w", err)
	}
	p := &Program{Self: e.setup.Self, Degrees: e.setup.Degrees, World: world, Context: e.life,
		engine: e, stop: e.safePoint, resumed: e.reached}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.startAt != nil {
		p.restore(e.image, e.startAt.Point)
		e.image = nil
	}
	if e.back.Pending() {
		return nil, errBack
	}
	e.program = p
	p.due.Store(e.member.Due())
	return p, nil
}

// run runs the program and, when it has returned, tells the other replicas of
// the rank that nothing more comes.
func (e *Engine) run(program func(*Program) error) error {
	p, err := e.newProgram()
	if err == nil {
		err = program(p)
	}
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.back.Pending() {
		return errBack
	}
	if e.err != nil {
		return diverged(e.err)
	}
	bye := update.Message{Kind: update.KindBye, Section: e.machine.Number()}
	e.finished = true
	for replica, l := range e.peers {
		if l != nil {
			e.notify(replica, bye)
		}
	}
	return nil
}
