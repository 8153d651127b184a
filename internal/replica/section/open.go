package section

import "github.com/intrahpc/intra/sched"

// A task is open if this replica still needs its result and does not expect it from a
// peer. Open tasks are kept in an index, because a section may have a hundred thousand
// tasks.

// resize resets the section to n tasks, none of them done.
func (m *Machine) resize(n int) {
	if more := n - len(m.tasks); more > 0 {
		r := len(m.peers)
		flags, claims := make([]bool, 2*r*more), make([]claim, r*more)
		for range more {
			m.tasks = append(m.tasks, task{has: flags[:r:r], skipped: flags[r : 2*r : 2*r], claims: claims[:r:r]})
			flags, claims = flags[2*r:], claims[r:]
		}
	}
	for i := range m.tasks[:n] {
		t := &m.tasks[i]
		t.state, t.claimant, t.reserved, t.claimed = todo, false, -1, 0
		clear(t.has)
		clear(t.claims)
		clear(t.skipped)
	}
	m.begun, m.claims = 0, m.claims[:0]
	m.ready.Reset(n, len(m.peers), true)
	clear(m.assigned)
	if m.shape.Policy == sched.Static {
		for p := range m.peers {
			if m.assigned[p] = m.waited(p); m.assigned[p] {
				m.refreshBlock(p)
			}
		}
	}
}

// waited reports whether a static schedule leaves the block of peer p to p.
func (m *Machine) waited(p int) bool {
	return p != m.me && !m.gone(p) && !m.inbox.skipped(p, m.number)
}

// refresh updates the index entry of task t after a change of its state.
func (m *Machine) refresh(t int) {
	tk := &m.tasks[t]
	ready := view{m}.Todo(t)
	switch m.shape.Policy {
	case sched.Adaptive:
		ready = ready && tk.claimed == 0
	case sched.Static:
		owner := sched.Owner(m.shape.Tasks, len(m.peers), t)
		ready = ready && (!m.assigned[owner] || tk.skipped[owner])
	}
	if ready {
		m.ready.Add(t)
	} else {
		m.ready.Remove(t)
	}
}

func (m *Machine) refreshBlock(p int) {
	lo, hi := sched.Block(m.shape.Tasks, len(m.peers), p)
	for t := lo; t < hi; t++ {
		m.refresh(t)
	}
}

// look updates the index of open tasks: claims may have expired, and frames of peers may
// have arrived.
func (m *Machine) look() {
	m.unmet = m.unmet[:0]
	switch m.shape.Policy {
	case sched.Adaptive:
		for _, t := range m.claims {
			if v := (view{m}); v.Todo(t) && !v.Expected(t) {
				m.unmet = append(m.unmet, t)
			}
		}
	case sched.Static:
		for p, assigned := range m.assigned {
			if assigned && !m.waited(p) {
				m.assigned[p] = false
				m.refreshBlock(p)
			}
		}
	}
}

// view is the machine in the form that the scheduler uses.
type view struct{ *Machine }

func (v view) Todo(t int) bool { return v.tasks[t].state == todo && v.tasks[t].reserved < 0 }
func (v view) Gone(i int) bool { return v.gone(i) }

// Expected reports whether this replica waits for a peer to send the result of a task: a
// live peer has claimed it, or a static schedule assigned it at the entry.
func (v view) Expected(t int) bool {
	tk := &v.tasks[t]
	switch v.shape.Policy {
	case sched.Static:
		owner := sched.Owner(v.shape.Tasks, v.shape.Replicas, t)
		return v.waited(owner) && !tk.skipped[owner]
	case sched.Adaptive:
		for p := range tk.claims {
			if v.believed(t, p) && !v.slower(t, p) {
				return true
			}
		}
	}
	return false
}

// First implements sched.Index.
func (v view) First(lo, hi int, back bool) (task int, ok bool) {
	task, ok = v.ready.First(lo, hi, back)
	for _, t := range v.unmet {
		if lo <= t && t < hi && (!ok || t < task != back) {
			task, ok = t, true
		}
	}
	return task, ok
}

// Open implements sched.Index.
func (v view) Open(i int) int {
	n := v.ready.Count(i)
	for _, t := range v.unmet {
		if sched.Owner(v.shape.Tasks, v.shape.Replicas, t) == i {
			n++
		}
	}
	return n
}

// Sooner reports whether this replica leaves the open tasks to its peers, and sets until
// when.
func (v view) Sooner(t, open int) (ok bool) {
	v.held, ok = v.sooner(t, open)
	return ok
}
