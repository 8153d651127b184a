package engine

import (
	"errors"

	"github.com/intrahpc/intra/internal/replica/kept"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// keptResults is the exchange of a section whose results are kept.
type keptResults struct{ *keeper }

// Share makes current what the tasks of s need, and then completes s.
func (k *keeper) Share(s *Section) error {
	k.mu.Lock()
	err := k.enter(s, k.yield)
	k.mu.Unlock()
	if err == nil {
		err = k.sharing.share(s)
	} else if !errors.Is(err, errBehind) {
		return k.sectionFails(err)
	}
	if err = k.outcome(err); err == nil && k.entered {
		k.mu.Lock()
		k.left()
		k.mu.Unlock()
	}
	return err
}

// enter makes current what the tasks of s need, and decides whether the results of s are kept.
// If nothing is or becomes kept, it costs almost nothing.
func (k *keeper) enter(s *Section, yield func(func())) error {
	if err := k.compareLast(s); err != nil {
		return err
	}
	if k.once.kept != nil {
		k.record(s)
	}
	wants := s.Keep && s.Agree == nil && (k.setup.Sched == "" || k.setup.Sched == "static")
	keeps := wants && k.machine.Keeps(keptType)
	if !keeps && !k.machine.Lacks() {
		return nil
	}
	k.describeSection(s)
	k.input.Other = !wants
	k.entered = true
	k.machine.Enter(&k.input)
	if keeps {
		s.Policy, s.exchange = sched.Static, keptResults{k}
		k.perform()
		return nil
	}
	return k.done(yield)
}

// describeSection sets input to the description of s.
func (k *keeper) describeSection(s *Section) {
	in := &k.input
	in.Number, in.Type = s.Number, keptType
	tasks := in.Tasks[:cap(in.Tasks)]
	for len(tasks) < len(s.Tasks) {
		tasks = append(tasks, nil)
	}
	in.Tasks = tasks[:len(s.Tasks)]
	clear(k.partials)
	for t := range s.Tasks {
		regions := in.Tasks[t][:0]
		for i := range s.Tasks[t].Regions {
			r := &s.Tasks[t].Regions[i]
			if len(r.Mem) == 0 {
				continue
			}
			regions = append(regions, kept.Region{Mode: r.Mode, Mem: spanOf(r.Mem)})
			if r.Mode == update.Reduce {
				if k.partials == nil {
					k.partials = make(map[uint64][]byte)
				}
				k.partials[spanOf(r.Mem).Lo] = r.Mem
			}
		}
		in.Tasks[t] = regions
	}
}

// left closes the open section in the machine. The caller holds the lock.
func (k *keeper) left() {
	k.entered = false
	k.machine.Leave()
	k.perform()
}

func (x keptResults) enter(*Section, uint64) error { return nil }

func (x keptResults) next(w *worker, s *Section) (step, error) {
	next, err := x.machine.Next()
	x.perform()
	if link := x.sibling(); link != nil {
		for _, f := range x.out {
			w.out = append(w.out, outgoing{link: link, frame: f})
		}
	}
	x.out = nil
	switch {
	case err != nil:
		return step{}, x.broke(err)
	case next.Kind == kept.Run:
		return step{kind: runTask, task: next.Task}, nil
	case next.Kind == kept.Wait:
		return step{kind: waitForPeer}, nil
	case next.Kind == kept.Back && w.number == 0:
		return step{}, errBehind
	case next.Kind == kept.Back: // the goroutine of the program leaves the section
		return step{kind: waitForPeer}, nil
	}
	// The sibling may die at any time. If it dies before this, its tasks are adopted. If it
	// dies afterwards, their results are lost.
	if x.entered {
		x.finish(s)
	}
	return step{kind: allHere}, nil
}

func (x keptResults) along(*worker, *Section, *Task) func() { return nil }

func (x keptResults) ran(_ *worker, _ *Section, task int) { x.machine.Ran(task) }

func (x keptResults) first(*Task) bool { return false }

func (x keptResults) binding() bool { return true }

func (x keptResults) adopted(_ *Section, task int) bool { return x.machine.Adopted(task) }

func (x keptResults) missing() int { return -1 }

// finish closes s in the machine: its results stay where they are.
func (x keptResults) finish(s *Section) {
	for t := range s.Tasks {
		own := x.machine.Owns(t)
		for i := range s.Tasks[t].Regions {
			r := &s.Tasks[t].Regions[i]
			if r.Mode != update.Out && r.Mode != update.InOut {
				continue
			}
			x.pins.add(r.Mem)
			if !own && x.setup.Stale {
				spoil(r.Mem, byte(0xa0+x.setup.Self.Replica))
			}
		}
	}
	x.left()
}

func (x keptResults) leave(s *Section) {
	var shape update.Signature
	for t := range s.Tasks {
		shape.AddShape(s.Tasks[t].Kernel.typeSum(), s.Tasks[t].Regions, nil)
	}
	if err := x.pass(s, shape.Sum()); err != nil {
		x.fail(err)
	}
}

func (x keptResults) describe() string { return x.keeper.describe() }

// spoil overwrites memory that this replica lacks: a program that reads it computes nonsense.
func spoil(mem []byte, with byte) {
	for i := range mem {
		mem[i] = with
	}
}
