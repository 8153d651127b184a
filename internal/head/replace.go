package head

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// fill chooses the process that is wanted for a slot, once the output of the process before
// it is complete (settled). The end of that process is decided by then, or its entry precedes
// the new Born entry in the log.
func (h *Head) fill(p job.Process) {
	incarnation, wanted := h.wanted[p]
	old := h.places[p]
	if !wanted || !old.settled || h.phase > working {
		return
	}
	delete(h.wanted, p)
	if m := h.bestSpare(p); m != nil {
		m.to(promised)
		m.role = Joiner
		h.take(m, p, incarnation)
		h.choose(m)
		return
	}
	node, err := h.settleOn(p, old)
	if err != nil {
		h.sayRefused(p, fmt.Sprintf("%v cannot be replaced: %v", p, err))
		h.notify(func(d *recovery.Head, now time.Duration) []recovery.Action {
			return d.Refused(p, incarnation, err.Error(), now)
		})
		return
	}
	h.choose(h.enroll(p, incarnation, From{node, p, incarnation}, Joiner))
}

// unfill withdraws the requests for slots that still wait for the end of the process before.
// A rank has been lost meanwhile, and needs the last spare more.
func (h *Head) unfill() {
	for _, p := range job.Processes(h.config.Degrees) {
		h.unwant(p)
	}
}

// unwant withdraws the request for one slot and frees its spare.
func (h *Head) unwant(p job.Process) {
	if incarnation, wanted := h.wanted[p]; wanted {
		delete(h.wanted, p)
		h.notify(func(d *recovery.Head, now time.Duration) []recovery.Action { return d.Returned(p, incarnation, now) })
	}
}

// settleOn chooses the host of a joiner: that of the process before it, unless the host is
// lost or a broken link killed that process. Then it chooses another host with room, without
// another replica of the rank if possible. If none has room, a host that is not lost is
// used again.
func (h *Head) settleOn(p job.Process, old *member) (detect.ID, error) {
	_, lost := h.state.Lost[old.from.Node]
	switch {
	case !h.config.Replace:
		return 0, errors.New("no spare process is left")
	case !lost && (old.verdict == nil || old.verdict.Cause != job.CauseLink):
		return old.from.Node, nil
	}
	used, together := make(map[detect.ID]int), make(map[detect.ID]bool)
	for _, o := range h.all {
		if o.state < gone {
			used[o.from.Node]++
			together[o.from.Node] = together[o.from.Node] || o.process.Rank == p.Rank
		}
	}
	var best *Node
	for i := range h.config.Nodes {
		n := &h.config.Nodes[i]
		if _, gone := h.state.Lost[n.ID]; !gone && n.ID != old.from.Node && used[n.ID] < n.Slots &&
			(best == nil || together[best.ID] && !together[n.ID]) {
			best = n
		}
	}
	switch {
	case best != nil:
		return best.ID, nil
	case lost:
		return 0, fmt.Errorf("host %s is lost, and no other host has a free slot", old.node.Name)
	}
	return old.from.Node, nil
}

// sayRefused tells the user why a slot gets no process. It prints the same reason once,
// however often the head tries.
func (h *Head) sayRefused(p job.Process, text string) {
	if h.recovery.refused[p] == text {
		return
	}
	if h.recovery.refused == nil {
		h.recovery.refused = make(map[job.Process]string)
	}
	h.recovery.refused[p] = text
	h.warnf("%s", text)
}

// introduce makes the link between a joiner and another process.
func (h *Head) introduce(m, other *member) {
	if !m.state.there() || !other.state.there() {
		return // a verdict will follow
	}
	lower, higher := m, other
	if lower.process.Compare(higher.process) > 0 {
		lower, higher = higher, lower
	}
	kind, onUse := h.linkKind(m, other), h.onUse(m, other)
	if kind != job.LinkTCP && !onUse {
		h.act(Link{Node: m.from.Node, Lower: lower.from.ID, Higher: higher.from.ID, Kind: kind, Ring: h.config.Ring,
			Meet: &[2]job.Peer{lower.peer(kind, onUse), higher.peer(kind, onUse)}})
		return
	}
	h.send(lower, &job.Message{Kind: job.KindConnect, Peers: []job.Peer{higher.peer(kind, onUse)}})
	h.send(higher, &job.Message{Kind: job.KindConnect, Peers: []job.Peer{lower.peer(kind, onUse)}})
}

// dismiss ends a joiner that the job does not need any more.
func (h *Head) dismiss(p job.Process) {
	h.unwant(p)
	m := h.places[p]
	if !m.coming() {
		return
	}
	h.detailf("%v no longer needs a replacement", m.process)
	was := m.state
	switch m.to(dismissed); {
	case was == chosen && h.placed(m): // under another head, and nobody has started it
		m.settled = true
		h.dismissed(m)
	case was == chosen:
	case was == starting, was == promised: // it would not understand a message yet
		h.act(Kill{m.from, syscall.SIGKILL})
	default:
		h.send(m, &job.Message{Kind: job.KindRelease})
		h.after(lastWords, timer{kind: killMember, m: m})
	}
}

// spares returns the number of spares that can take a slot.
func (h *Head) spares() (n int) {
	for _, m := range h.all {
		if m.state == waiting {
			n++
		}
	}
	return n
}

// spareReady tells recovery about one more spare that can take a slot.
func (h *Head) spareReady() { h.notify((*recovery.Head).SpareReady) }

// spareExited records the end of a spare that has no slot.
func (h *Head) spareExited(m *member) {
	was := m.state
	m.to(ended)
	h.propose(decision.Entry{Kind: decision.Withdrawn, Process: m.process, Incarnation: m.incarnation})
	if h.phase <= working {
		h.warnf("%s is dead (%s)", m.name(), firstLine(m.cause().detail))
		if was == waiting {
			h.notify((*recovery.Head).SpareGone)
		}
		h.startIfReady()
	}
}

// bestSpare returns the spare for a slot, on a host without another replica of the rank if
// possible. It returns nil if no spare is ready.
func (h *Head) bestSpare(p job.Process) (best *member) {
	together := make(map[detect.ID]bool)
	for _, m := range h.all {
		if m.state < gone && m.process.Rank == p.Rank {
			together[m.from.Node] = true
		}
	}
	for _, m := range h.all {
		if m.state == waiting && m.ending == nil && (best == nil || together[best.from.Node] && !together[m.from.Node]) {
			best = m
		}
	}
	return best
}

// freeSpares kills the spares at the end of the job.
func (h *Head) freeSpares() {
	for _, m := range h.all {
		if m.role == Spare {
			h.kill(m)
		}
	}
}
