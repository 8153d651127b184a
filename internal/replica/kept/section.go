package kept

import (
	"slices"

	"github.com/intrahpc/intra/update"
)

// Region is memory that a task names.
type Region struct {
	Mode update.Mode
	Mem  Span // for an in region with a window: the memory that the window reads
	Full bool // Mode is out, and the task writes every byte of the region
}

// reads reports whether the contents of the region at the entry matter. An out region that
// is written only in part keeps its other bytes.
func (r *Region) reads() bool {
	return r.Mode == update.In || r.Mode == update.InOut || r.Mode == update.Out && !r.Full
}

// Section is a section at its entry: all its tasks have been launched.
type Section struct {
	Number uint64
	Type   uint64
	Tasks  [][]Region
	// Other means that the results are not kept in any case: the schedule of the section is
	// adaptive, or it is replicated, stored or verified.
	Other bool
}

// round is the state of the open section.
type round struct {
	*Section
	keeps   bool
	owners  []int // of a kept section: the replica that runs each task
	todo    []int // tasks that this replica still has to start
	ready   int   // number of tasks at the beginning of todo that need none of the pieces on their way
	running int
	exits   bool // all tasks of this replica have run
}

// Enter opens a section, which is an operation for Did.
func (m *Machine) Enter(s *Section) {
	m.round = round{Section: s, keeps: !s.Other && m.Keeps(s.Type), owners: make([]int, len(s.Tasks))}
	r := &m.round
	var needs []need
	var late []int
	for t, regions := range s.Tasks {
		by := both
		if r.keeps {
			r.owners[t] = m.plan.owner(t, len(s.Tasks))
			by = 1 << r.owners[t]
		}
		lacks := false
		for i := range regions {
			if regions[i].reads() {
				needs = append(needs, need{regions[i].Mem, by})
				lacks = lacks || by.has(m.me) && m.lacks(regions[i].Mem)
			}
		}
		switch {
		case lacks:
			late = append(late, t)
		case by.has(m.me):
			r.todo = append(r.todo, t)
		}
	}
	r.ready = len(r.todo)
	r.todo = append(r.todo, late...)
	m.exchange(needs)
}

// lacks reports whether this replica lacks some bytes of s.
func (m *Machine) lacks(s Span) bool {
	return slices.ContainsFunc(m.holders.within(s), func(r run) bool { return !r.by.has(m.me) })
}

// early returns a task that runs while pieces for other tasks are on their way. No such task
// names memory of the pieces.
func (m *Machine) early() (task int, ok bool) {
	r := &m.round
	if r.Section == nil || !r.keeps || r.exits || r.ready == 0 {
		return 0, false
	}
	return m.start(), true
}

// start returns the next task, which now runs.
func (m *Machine) start() int {
	r := &m.round
	t := r.todo[0]
	r.todo = r.todo[1:]
	r.ready = max(r.ready-1, 0)
	r.running++
	return t
}

// inSection returns the next step in the open section. ok is false if an exchange comes
// first.
func (m *Machine) inSection() (s Step, ok bool) {
	r := &m.round
	switch {
	case !r.keeps:
		return Step{Kind: Share}, true
	case len(r.todo) > 0:
		return Step{Kind: Run, Task: m.start()}, true
	case r.running > 0:
		return Step{Kind: Wait}, true
	case r.exits:
		return Step{Kind: Done}, true
	}
	r.exits = true
	if m.paired() {
		m.passPartials()
	}
	return Step{}, false
}

// passPartials exchanges the partial results of reductions, because both replicas combine
// them.
func (m *Machine) passPartials() {
	var out, in []Span
	sig := uint64(len(m.round.Tasks))
	for t, regions := range m.round.Tasks {
		for i := range regions {
			if regions[i].Mode != update.Reduce {
				continue
			}
			sig = mix(mix(sig, uint64(t)), regions[i].Mem.size())
			if m.round.owners[t] == m.me {
				out = append(out, regions[i].Mem)
			} else {
				in = append(in, regions[i].Mem)
			}
		}
	}
	m.pass(out, in, sig)
}

// Owns reports whether a task of the open section, which keeps its results, runs on this
// replica. Adopted reports whether that is because the sibling has died.
func (m *Machine) Owns(task int) bool { return m.round.owners[task] == m.me }

// Adopted is explained at Owns.
func (m *Machine) Adopted(task int) bool {
	return m.Owns(task) && m.plan.owner(task, len(m.round.owners)) != m.me
}

// Ran records that the body of a task has returned.
func (m *Machine) Ran(int) { m.round.running-- }

// adopt assigns the tasks of the dead sibling in the open section to this replica. Their
// inputs are unchanged since the entry: no task writes memory that another one reads.
func (m *Machine) adopt() {
	r := &m.round
	if r.Section == nil || !r.keeps {
		return
	}
	if r.exits {
		m.open, r.exits = nil, false
	}
	for t, owner := range r.owners {
		if owner == m.me {
			continue
		}
		r.owners[t] = m.me
		r.todo = append(r.todo, t)
		for i := range r.Tasks[t] {
			if g := &r.Tasks[t][i]; g.reads() && len(m.holders.within(g.Mem)) > 0 {
				m.behind = true
			}
		}
	}
}

// Leave closes the section. It follows the Done of Next before any other event: a sibling that
// dies in between would have its tasks adopted, and Leave would count them as run. The results
// of a task of a kept section are current where the task ran. All other results are current on
// all live replicas.
func (m *Machine) Leave() {
	r := &m.round
	for t, regions := range r.Tasks {
		by := both
		if r.keeps {
			by = 1 << r.owners[t]
		}
		for i := range regions {
			if g := &regions[i]; g.Mode == update.Out || g.Mode == update.InOut {
				m.wrote(g.Mem, by)
			}
		}
	}
	m.round = round{}
}

// wrote records that these replicas have the current bytes of s.
func (m *Machine) wrote(s Span, by set) {
	if by&m.holders.live != m.holders.live && s.Lo < s.Hi && !m.known[s] {
		m.known[s] = true
		m.areas = append(m.areas, s)
	}
	m.holders.put(s, by)
}
