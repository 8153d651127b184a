package head

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// fill gets the process that is wanted for a place, once nothing more is to come
// from the one before. That this has left the place is decided by then, or stands
// before its place in the log.
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
		h.notify(news{kind: newsRefused, process: p, incarnation: incarnation, text: err.Error()})
		return
	}
	h.choose(h.enroll(p, incarnation, From{node, p, incarnation}, Joiner))
}

// unfill takes back that places are to be filled which still wait for the end of the
// one before: the last spare is for a rank that is lost meanwhile.
func (h *Head) unfill() {
	for _, p := range job.Processes(h.config.Degrees) {
		h.unwant(p)
	}
}

// unwant takes that back for one place: its spare is for others again.
func (h *Head) unwant(p job.Process) {
	if incarnation, wanted := h.wanted[p]; wanted {
		delete(h.wanted, p)
		h.notify(news{kind: newsReturned, process: p, incarnation: incarnation})
	}
}

// settleOn chooses the host of a joiner: that of the one before, or, if it is
// lost, one with a free slot, away from the other replicas of the rank if that
// can be. A host whose links break is left too if there is another one.
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

// sayRefused tells why there is no process for a place: once, however often it is tried.
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
		return // the verdict is on its way
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

// dismiss lets a joiner go that the job does not need any more.
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
	case was == starting, was == promised: // it could make nothing of a word
		h.act(Kill{m.from, syscall.SIGKILL})
	default:
		h.send(m, &job.Message{Kind: job.KindRelease})
		h.after(lastWords, timer{kind: killMember, m: m})
	}
}

// spares counts those that can be given a place.
func (h *Head) spares() (n int) {
	for _, m := range h.all {
		if m.state == waiting {
			n++
		}
	}
	return n
}

// spareReady: one more spare can be given a place.
func (h *Head) spareReady() { h.notify(news{kind: newsSpareReady}) }

// spareExited: a spare has died, or is not needed any more.
func (h *Head) spareExited(m *member) {
	was := m.state
	m.to(ended)
	h.propose(decision.Entry{Kind: decision.Withdrawn, Process: m.process, Incarnation: m.incarnation})
	if h.phase <= working {
		h.warnf("%s is dead (%s)", m.name(), firstLine(m.cause().detail))
		if was == waiting {
			h.notify(news{kind: newsSpareGone})
		}
		h.startIfReady()
	}
}

// bestSpare is the one for a place: on a host without another replica of the
// rank, if there is one. It is nil if there is none at all.
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

// freeSpares ends the spares at the end of the job.
func (h *Head) freeSpares() {
	for _, m := range h.all {
		if m.role == Spare {
			h.kill(m)
		}
	}
}
