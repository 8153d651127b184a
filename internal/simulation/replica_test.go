package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/intrahpc/intra/internal/section"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr/sdrtest"
	"github.com/intrahpc/intra/update"
)

// replica drives the section protocol of one simulated process over the links
// that also carry its messages, as package runtime does it over real ones.
type replica struct {
	p       *sdrtest.Process
	degree  int
	options *options
	random  *rand.Rand // of this replica alone
	m       *section.Machine
	tasks   []task // of the open section
	changes int
	pending int // updates whose memory is the program's, not yet handed over
	err     error
}

// options of the sections of a job.
type options struct {
	inPlace  bool
	inbox    int64
	patience time.Duration
}

// task is one task of a section.
type task struct {
	body    func()
	regions []update.Region
}

func newReplica(p *sdrtest.Process, degree int, seed uint64, o *options) *replica {
	return &replica{p: p, degree: degree, options: o,
		random: rand.New(rand.NewPCG(seed, uint64(p.Rank*100+p.Replica))),
		m:      section.New(section.Config{Replica: p.Replica, Replicas: degree, InboxBytes: o.inbox})}
}

// section runs the tasks of a section, alone or with the other replicas.
func (r *replica) section(policy sched.Policy, tasks []task) error {
	r.p.Reach(sdrtest.AtSection)
	if r.degree == 1 {
		for _, t := range tasks {
			t.body()
		}
		return nil
	}
	if policy == sched.Adaptive && r.random.IntN(4) == 0 {
		policy = sched.Replicate // a decision of this replica alone
	}
	var sig update.Signature
	for _, t := range tasks {
		sig.Add("task", t.regions)
		update.Aliased(t.regions)
	}
	r.tasks = tasks
	acts, err := r.m.Enter(section.Entry{Policy: policy, Tasks: len(tasks), Signature: sig.Sum(),
		Patience: func(int) time.Duration { return r.options.patience }}, r.p.Now())
	if err == nil {
		err = r.perform(acts)
	}
	for err == nil && r.err == nil {
		seen := r.changes
		step, acts := r.m.Next(r.p.Now())
		switch step.Kind {
		case section.Done:
			return r.leave()
		case section.Wait:
			err = r.p.WaitUntil(step.Until, func() bool { return r.changes != seen })
		case section.Run:
			r.send(acts)
			tasks[step.Task].body()
			r.p.Reach(sdrtest.AtTask)
			r.send(r.m.Ran(step.Task))
			r.pause()
		}
	}
	if err == nil {
		err = r.err
	}
	return err
}

// leave ends a section when its memory is no link's any more.
func (r *replica) leave() error {
	if err := r.p.WaitUntil(0, func() bool { return r.pending == 0 }); err != nil {
		return err
	}
	r.m.Leave()
	r.tasks = nil
	return nil
}

// pause lets the others run for a while.
func (r *replica) pause() {
	for range r.random.IntN(3) {
		r.p.Poll()
	}
}

// finish tells the other replicas that the program has returned.
func (r *replica) finish() error {
	for k := range r.degree {
		if k != r.p.Replica {
			r.post(k, update.Message{Kind: update.KindBye, Section: r.m.Number(), Signature: r.m.Chain()}, nil)
		}
	}
	return r.err
}

func (r *replica) send(acts []section.Action) {
	for _, a := range acts {
		m := update.Message{Kind: update.KindClaim, Section: r.m.Number(), Task: a.Task,
			Tasks: len(r.tasks), Signature: r.m.Signature()}
		if a.Kind == section.Send {
			m.Kind = update.KindUpdate
			r.pending++
			r.post(a.Peer, m, update.Payload(nil, r.tasks[a.Task].regions))
		} else {
			r.post(a.Peer, m, nil)
		}
	}
}

func (r *replica) post(peer int, m update.Message, payload [][]byte) {
	f := &transport.Frame{Header: m.Header(0), Payload: payload, Owner: r}
	if m.Kind == update.KindUpdate {
		f.Mid = r.p.Mid(sdrtest.AtUpdate)
	}
	r.p.Link(r.p.Rank, peer).Send(f)
}

// Sent implements transport.Owner.
func (r *replica) Sent(f *transport.Frame, _ error) {
	if update.Kind(f.Header.Kind) == update.KindUpdate {
		if r.pending--; r.pending == 0 {
			r.p.Wake()
		}
	}
}

// perform takes in updates.
func (r *replica) perform(acts []section.Action) error {
	for _, a := range acts {
		if a.Kind == section.Apply {
			if err := update.Apply(r.tasks[a.Task].regions, a.Token.([]byte)); err != nil {
				return fmt.Errorf("task %d from replica %d: %w", a.Task, a.Peer, err)
			}
		}
	}
	return nil
}

func (r *replica) changed() {
	r.changes++
	r.p.Wake()
}

// Dead implements sdrtest.Layer.
func (r *replica) Dead(of *sdrtest.Process) {
	if of.Rank == r.p.Rank {
		r.m.Dead(of.Replica)
		r.changed()
	}
}

// Receiver implements sdrtest.Layer.
func (r *replica) Receiver(from *sdrtest.Process) transport.Receiver {
	return &receiver{r: r, from: from.Replica}
}
