package simulation

import (
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// task is one task of a section.
type task struct {
	body    func()
	regions []update.Region
}

// opened is the section that is open.
type opened struct{ tasks []task }

// section runs the tasks of a section together with the other replicas.
func (p *process) section(policy sched.Policy, tasks []task) error {
	p.reach("section")
	if p.err != nil {
		return p.err
	}
	if policy == sched.Adaptive && p.w.random.IntN(4) == 0 {
		policy = sched.Replicate // only this replica decides so
	}
	var sig update.Signature
	for _, t := range tasks {
		sig.Add(update.TypeSum("task"), t.regions)
		update.Aliased(t.regions)
	}
	p.open = &opened{tasks}
	acts, err := p.machine.Enter(section.Entry{Policy: policy, Tasks: len(tasks), Signature: sig.Sum(),
		Patience: func(int) time.Duration { return p.w.spec.patience }}, p.now())
	if err == nil {
		err = p.perform(acts)
	}
	if err != nil {
		return err
	}
	if p.w.random.IntN(2) == 0 {
		for _, k := range p.replicas() {
			p.post(k, update.Message{Kind: update.KindEntered, Section: p.machine.Number(), Tasks: len(tasks), Signature: sig.Sum()}, nil)
		}
	}
	for {
		if p.err != nil {
			return p.err
		}
		seen := p.changes
		step, acts := p.machine.Next(p.now())
		switch step.Kind {
		case section.Done:
			return p.leave()
		case section.Wait:
			if err := p.waitUntil(step.Until, func() bool { return p.changes != seen }); err != nil {
				return err
			}
		case section.Run:
			p.send(acts)
			tasks[step.Task].body()
			p.reach("task")
			p.send(p.machine.Ran(step.Task))
			p.lull()
		}
	}
}

// leave ends a section once no link uses its memory.
func (p *process) leave() error {
	if err := p.waitUntil(0, func() bool { return p.pending == 0 }); err != nil {
		return err
	}
	p.machine.Leave()
	p.open = nil
	return nil
}

// lull lets the other processes run for a while.
func (p *process) lull() {
	for range p.w.random.IntN(3) {
		p.Poll()
	}
}

func (p *process) send(acts []section.Action) {
	for _, a := range acts {
		m := update.Message{Kind: update.KindClaim, Section: p.machine.Number(), Task: a.Task,
			Tasks: len(p.open.tasks), Signature: p.machine.Signature()}
		if a.Kind == section.Send {
			m.Kind = update.KindUpdate
			p.post(a.Peer, m, update.Payload(nil, p.open.tasks[a.Task].regions))
		} else {
			p.post(a.Peer, m, nil)
		}
	}
}

func (p *process) post(replica int, m update.Message, payload [][]byte) {
	to := p.self
	to.Replica = replica
	l := p.linkTo(to)
	if l == nil {
		return // the process has died
	}
	f := &transport.Frame{Header: m.Header(p.incarnation), Payload: payload}
	if m.Kind == update.KindUpdate {
		p.pending++
		f.Droppable, f.Owner, f.Mid = true, lent{p}, p.mid("update")
	}
	l.Send(f)
}

// lent is the owner of a frame that refers to the program's memory.
type lent struct{ p *process }

// Sent implements transport.Owner.
func (l lent) Sent(*transport.Frame, error) {
	if l.p.pending--; l.p.pending == 0 {
		l.p.Wake()
	}
}

// perform applies received updates.
func (p *process) perform(acts []section.Action) error {
	for _, a := range acts {
		if a.Kind == section.Apply {
			if err := update.Apply(p.open.tasks[a.Task].regions, a.Token.([]byte)); err != nil {
				return fmt.Errorf("task %d from replica %d: %w", a.Task, a.Peer, err)
			}
		}
	}
	return nil
}
