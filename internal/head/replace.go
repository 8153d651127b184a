package head

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// fill chooses the process that is wanted for a slot, once the output of the earlier process is
// complete (settled). The end of the earlier process is decided by then, or its entry precedes
// the new Placed entry in the log.
func (ms *members) fill(p job.Process) {
	incarnation, wanted := ms.wanted[p]
	old := ms.places[p]
	if !wanted || ms.unsettled(p) || ms.phase > working {
		return
	}
	delete(ms.wanted, p)
	if m := ms.bestSpare(p); m != nil {
		m.to(promised)
		m.role = Joiner
		ms.take(m, p, incarnation)
		ms.choose(m)
		return
	}
	node, err := ms.settleOn(p, old)
	if err != nil {
		if !ms.open(old) {
			ms.sayRefused(p, fmt.Sprintf("%v cannot be replaced: %v", p, err))
		}
		ms.recovery.notify(func(d *recovery.Head, now time.Duration) []recovery.Action {
			return d.Refused(p, incarnation, err.Error(), true, now)
		})
		return
	}
	ms.choose(ms.enroll(p, incarnation, From{node, p, incarnation}, Joiner))
}

// cancelRequest withdraws the request for one slot and frees its spare.
func (ms *members) cancelRequest(p job.Process) {
	if incarnation, wanted := ms.wanted[p]; wanted {
		delete(ms.wanted, p)
		ms.recovery.notify(func(d *recovery.Head, now time.Duration) []recovery.Action { return d.Returned(p, incarnation, now) })
	}
}

// errNoRoom is the reason why a vacant slot gets no process.
var errNoRoom = errors.New("no host has a free slot")

// open reports whether the next process in the slot of m is an additional replica, which
// replaces no process that has died.
func (ms *members) open(m *member) bool {
	return m.vacant() || m.verdict != nil && (m.verdict.Cause == job.CauseDropped || m.verdict.Withdrawn && ms.config.Least != nil && ms.alive(m.process.Rank) > 0)
}

// settleOn chooses the host of a joiner. The first choice is the host of the earlier process,
// unless that host is lost or leaves, a broken link killed that process, or another process now
// uses its slot on that host. The second choice is another host with room, as far as possible
// from the other replicas of the rank. If no other host has room, settleOn falls back to the
// host of the earlier process, if it stays. An additional replica (open) gets any host with
// room.
func (ms *members) settleOn(p job.Process, old *member) (detect.ID, error) {
	if ms.open(old) {
		if best := ms.elsewhere(p, 0); best != nil && ms.config.Replace {
			return best.ID, nil
		}
		return 0, errNoRoom
	}
	_, lost := ms.state.Lost[old.from.Node]
	leaves := ms.state.Leaves(old.from.Node)
	if !ms.config.Replace {
		return 0, errors.New("no spare process is left")
	}
	if !lost && !leaves && (old.verdict == nil || old.verdict.Cause != job.CauseLink) &&
		(ms.config.Least == nil || ms.used()[old.from.Node] < old.node.Slots) {
		return old.from.Node, nil
	}
	best := ms.elsewhere(p, old.from.Node)
	switch {
	case best != nil:
		return best.ID, nil
	case lost:
		return 0, fmt.Errorf("host %s is lost, and no other host has a free slot", old.node.Name)
	case leaves:
		return 0, fmt.Errorf("host %s leaves, and no other host has a free slot", old.node.Name)
	}
	return old.from.Node, nil
}

// elsewhere returns a host with a free slot other than but, or nil. It prefers a host without
// another replica of the rank, in a rack without one.
func (ms *members) elsewhere(p job.Process, but detect.ID) (best *Node) {
	used, together, racks := ms.used(), make(map[detect.ID]bool), make(map[string]bool)
	for _, o := range ms.all {
		if o.state < gone && o.process.Rank == p.Rank {
			together[o.from.Node], racks[o.node.Rack] = true, o.node.Rack != ""
		}
	}
	near := func(n *Node) int {
		switch {
		case together[n.ID]:
			return 2
		case racks[n.Rack]:
			return 1
		}
		return 0
	}
	for i := range ms.config.Nodes {
		n := &ms.config.Nodes[i]
		if ms.stays(n.ID) && n.ID != but && used[n.ID] < n.Slots && (best == nil || near(n) < near(best)) {
			best = n
		}
	}
	return best
}

// unsettled reports whether the output of an earlier process of a slot is incomplete.
func (ms *members) unsettled(p job.Process) bool {
	return slices.ContainsFunc(ms.all, func(o *member) bool {
		return o.process == p && o.role != Spare && (!o.relieves || o.state == dead || o.state == ended) && !o.settled
	})
}

// sayRefused prints why a slot gets no process. It prints the same reason only once, although
// the head tries repeatedly.
func (ms *members) sayRefused(p job.Process, text string) {
	if ms.refused[p] == text {
		return
	}
	ms.refused[p] = text
	ms.warnf("%s", text)
}

// introduce makes the link between a joiner and another process.
func (ms *members) introduce(m, other *member) {
	if m == nil || other == nil || !m.state.there() || !other.state.there() {
		return // a verdict on one of the two will follow
	}
	lower, higher := m, other
	if lower.endpoint().Compare(higher.endpoint()) > 0 {
		lower, higher = higher, lower
	}
	kind, onUse := ms.linkKind(m, other), ms.onUse(m, other)
	if kind != job.LinkTCP && !onUse {
		ms.act(Link{Node: m.from.Node, Lower: lower.from.ID, Higher: higher.from.ID, Kind: kind, Ring: ms.config.Ring,
			Meet: &[2]job.Peer{lower.peer(kind, onUse), higher.peer(kind, onUse)}})
		return
	}
	ms.send(lower, &job.Message{Kind: job.KindConnect, Peers: []job.Peer{higher.peer(kind, onUse)}})
	ms.send(higher, &job.Message{Kind: job.KindConnect, Peers: []job.Peer{lower.peer(kind, onUse)}})
}
