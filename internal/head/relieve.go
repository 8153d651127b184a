package head

import (
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// relieve chooses the process that will relieve the live process of a slot: a spare, or a new
// process on another host.
func (ms *members) relieve(p job.Process, incarnation uint32) {
	old := ms.places[p]
	// An earlier process of the slot may still run, although it was relieved or dismissed. The
	// decisions allow one relief of a slot at a time, and an agent allows one process of a slot.
	if slices.ContainsFunc(ms.all, func(o *member) bool { return o.process == p && o != old && o.role != Spare && !o.settled }) {
		ms.recovery.notify(func(d *recovery.Head, now time.Duration) []recovery.Action {
			return d.Refused(p, incarnation, "the process before it has not ended yet", false, now)
		})
		return
	}
	if m := ms.bestSpare(p); m != nil {
		m.to(promised)
		m.role, m.relieves = Joiner, true
		ms.take(m, p, incarnation)
		ms.choose(m)
		return
	}
	n := ms.elsewhere(p, old.from.Node)
	if n == nil || !ms.config.Replace || ms.phase > working {
		ms.sayRefused(p, fmt.Sprintf("%v cannot be moved: no other host has a free slot", p))
		ms.recovery.notify(func(d *recovery.Head, now time.Duration) []recovery.Action {
			return d.Refused(p, incarnation, "no other host has a free slot", false, now)
		})
		return
	}
	m := &member{from: From{n.ID, p, incarnation}, node: n, role: Joiner, stopped: longAgo, relieves: true}
	ms.add(m, p, incarnation)
	ms.choose(m)
}

// succeeded handles the death of m. If a process was to relieve m, and the decisions give it
// the slot, it gets the slot of m.
func (ms *members) succeeded(m *member) {
	at := ms.state.Places[m.process]
	if at.Incarnation == m.incarnation || m.relieves {
		return
	}
	if next := ms.holder(m.process, at.Incarnation); next != nil && next.relieves {
		next.relieves = false
		ms.places[m.process] = next
	}
}

// relieved reports whether another process is about to relieve m.
func (ms *members) relieved(m *member) bool {
	return slices.ContainsFunc(ms.all, func(o *member) bool { return o.relieves && o.process == m.process && o.state < gone && o.ending == nil })
}
