package intra

import (
	"fmt"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr"
	"github.com/intrahpc/intra/update"
)

// begin starts the links and the messaging engine.
func (e *engine) begin() {
	self := e.setup.Self
	e.msgs = sdr.NewEngine(sdr.Config{
		Rank: self.Rank, Replica: self.Replica,
		Incarnation: e.setup.Incarnation,
		Degrees:     e.setup.Degrees,
		Link:        func(rank, replica int) transport.Link { return e.links[job.Process{Rank: rank, Replica: replica}] },
		Poller:      e.poller,
		Context:     e.ctx,
		Mid:         func() func() bool { return e.kills.mid(job.KillMessage) },
	})
	for p, l := range e.links {
		l.Start(&receiver{e: e, from: p, msgs: e.msgs.Receiver(p.Rank, p.Replica)})
		e.poller.Add(l)
	}
	go e.report()
}

// process makes what the program sees of the engine.
func (e *engine) process() (*Process, error) {
	world, err := comm.World(e.msgs)
	if err != nil {
		return nil, fmt.Errorf("make the world communicator: %w", err)
	}
	return &Process{
		self:    e.setup.Self,
		degrees: e.setup.Degrees,
		world:   world,
		ctx:     e.ctx,
		engine:  e,
	}, nil
}

// run runs the program and, when it has returned, tells the other replicas of
// the rank that nothing more comes.
func (e *engine) run(program func(*Process) error) error {
	p, err := e.process()
	if err == nil {
		if e.setup.Check {
			p.trial = &trial{program: program}
		}
		err = guard(p, program)
	}
	if err == nil {
		err = p.trial.compared(true)
	}
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
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
