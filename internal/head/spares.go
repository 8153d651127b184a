package head

import (
	"slices"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// A spare waits for a slot. The first spares start with the job. After one of them has got a slot
// or has ended, a host that has joined the running job gets a new spare, if it has room. The job
// never waits for such a late spare, and continues if it ends.

// spares returns the number of spares that can take a slot.
func (ms *members) spares() (n int) {
	for _, m := range ms.all {
		if m.state == waiting {
			n++
		}
	}
	return n
}

// bestSpare returns the spare for a slot, on a host without another replica of the rank if
// possible. It returns nil if no spare is ready.
func (ms *members) bestSpare(p job.Process) (best *member) {
	together := make(map[detect.ID]bool)
	for _, m := range ms.all {
		if m.state < gone && m.process.Rank == p.Rank {
			together[m.from.Node] = true
		}
	}
	for _, m := range ms.all {
		if m.state == waiting && m.ending == nil && !ms.state.Leaves(m.from.Node) && (best == nil || together[best.from.Node] && !together[m.from.Node]) {
			best = m
		}
	}
	return best
}

// refill starts spares on hosts that have joined the running job, until as many spares wait as at
// the start of the job. Processes for slots take precedence over them: refill does nothing while
// recovery is at work, or a process that leaves may need the room.
func (ms *members) refill() {
	if len(ms.config.Spares) == 0 || len(ms.state.Hosts) == 0 || ms.phase != working || !ms.hasBegun || ms.retired || ms.state.Ending != nil || !ms.recovery.idle() || len(ms.wanted) > 0 {
		return
	}
	if ms.config.Replace && slices.ContainsFunc(ms.state.Leaving, func(l decision.Leave) bool { return l.Done == 0 }) {
		return
	}
	for n := ms.unused(); n < len(ms.config.Spares); n++ {
		host := ms.roomForSpare()
		if host == nil {
			return
		}
		id := ms.nextSpare()
		ms.detailf("a spare process is started on %s", host.Name)
		ms.choose(ms.enroll(id, firstIncarnation, From{host.ID, id, firstIncarnation}, Spare))
	}
}

// unused returns the number of spares that wait for a slot, or will soon.
func (ms *members) unused() (n int) {
	for _, m := range ms.all {
		if m.role == Spare && m.state <= waiting {
			n++
		}
	}
	return n
}

// roomForSpare returns the host that has joined and has the most free slots, or nil. A host on
// which a late spare has ended gets no other one: the next spare could end for the same reason.
func (ms *members) roomForSpare() (best *Node) {
	used, failed := ms.used(), make(map[detect.ID]bool)
	for _, m := range ms.all {
		failed[m.from.Node] = failed[m.from.Node] || m.role == Spare && m.state == ended
	}
	for i := range ms.state.Hosts {
		n := ms.config.node(ms.state.Hosts[i].Node)
		if ms.stays(n.ID) && !failed[n.ID] && used[n.ID] < n.Slots && (best == nil || n.Slots-used[n.ID] > best.Slots-used[best.ID]) {
			best = n
		}
	}
	return best
}

// nextSpare returns the name of the next late spare. No other process ever has that name.
func (ms *members) nextSpare() job.Process {
	next := len(ms.config.Spares)
	for _, m := range ms.all {
		next = max(next, m.from.ID.Rank-len(ms.config.Degrees)+1)
	}
	return ms.config.spareID(next)
}

// late reports whether a process is a spare that was not started with the job.
func (ms *members) late(m *member) bool {
	return m.role == Spare && m.process.Rank >= ms.config.spareID(len(ms.config.Spares)).Rank
}

// refuseSpare records that a late spare could not be started.
func (ms *members) refuseSpare(m *member, why string) {
	ms.warnf("no spare process can be started on %s: %s", m.node.Name, why)
	m.settled = true
	m.to(ended)
	ms.withdraw(m, why)
}

// freeSpares kills the spares at the end of the job.
func (ms *members) freeSpares() {
	for _, m := range ms.all {
		if m.role == Spare {
			ms.kill(m)
		}
	}
}

// spareExited records the end of a spare that has no slot.
func (ms *members) spareExited(m *member) {
	was := m.state
	m.to(ended)
	ms.propose(decision.Entry{Kind: decision.Withdrawn, Process: m.process, Incarnation: m.incarnation})
	if ms.phase <= working {
		ms.warnf("%s is dead (%s)", m.name(), firstLine(m.cause().detail))
		if was == waiting {
			ms.recovery.notify((*recovery.Head).SpareGone)
		}
		ms.startIfReady()
	}
	ms.finishOutput(m, true, false)
}
