package section

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/sched"
)

// Sections without waiting [nowait]. The program may go on from a section
// before all its tasks are here: Defer leaves it open behind the current one.
// Frames about it are taken in as before. It is completed later, by Resume and
// Leave, in the order of the sections.
//
// A section is entered only if its tasks are independent of those of all that
// are still open, as the tasks of one section are of each other; Overdue says
// how many have to be completed before. So a task of an open section finds the
// entry state of that section for as long as it is open, and can be run at any
// time, here or by whoever survives, and what a later section reads is as if
// all before it had ended.

// mostOpen bounds the sections that are open behind the current one.
const mostOpen = 4

// round is what is known of one section that is open.
type round struct {
	section  uint64
	open     bool
	noWait   bool // others may be past it and lack tasks of it
	shape    sched.Shape
	sig      uint64
	tasks    []task
	left     int       // tasks neither run nor received
	begun    int       // all tasks before it are run, received or running
	ready    sched.Set // tasks to do that are neither claimed nor assigned to a peer
	claims   []int     // tasks that peers have claimed
	unmet    []int     // of these, those to do that are not expected: scratch of Next
	assigned []bool    // per peer: it is waited for by a static schedule
	met      bool
	patience func(task int) time.Duration
	times    func(task int) *Times // may be nil
	held     time.Duration         // 0, or until when open tasks are left to a peer
}

// next returns the round of the next section.
func (m *Machine) next() *round {
	r := &round{assigned: make([]bool, len(m.peers))}
	if n := len(m.spare); n > 0 {
		r, m.spare = m.spare[n-1], m.spare[:n-1]
	}
	r.section, r.open = m.number, false
	return r
}

// Defer leaves the current section open: the next one may be entered, and no
// task of this one runs here until it is completed.
func (m *Machine) Defer() {
	m.later = append(m.later, m.round)
	m.number++
	m.round = m.next()
}

// Deferred returns how many sections are open behind the current one.
func (m *Machine) Deferred() int { return len(m.later) }

// Overdue returns how many of the sections that are open have to be completed
// before one is entered: all up to the last whose tasks are not independent of
// those of that one, and as many as there are too many.
func (m *Machine) Overdue(independent func(section uint64) bool) int {
	for n := len(m.later); n > 0; n-- {
		if !independent(m.later[n-1].section) {
			return n
		}
	}
	return max(len(m.later)-mostOpen+1, 0)
}

// Resume makes the oldest section that is open the current one, between two
// sections, until Leave.
func (m *Machine) Resume() {
	m.resumed = m.round
	m.round = m.later[0]
}

// settled ends a section that was resumed.
func (m *Machine) settled() {
	m.spare = append(m.spare, m.round)
	m.later = slices.Delete(m.later, 0, 1)
	m.round, m.resumed = m.resumed, nil
}

// about takes the round of a section into the hand if that is open, and
// returns what was there.
func (m *Machine) about(section uint64) (was *round, open bool) {
	was = m.round
	if m.open && m.section == section {
		return was, true
	}
	for _, r := range m.later {
		if r.section == section {
			m.round = r
			return was, true
		}
	}
	return was, false
}

func (m *Machine) take(r *round) { m.round = r }
