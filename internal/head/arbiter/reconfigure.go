package arbiter

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/intrahpc/intra/internal/head/decision"
)

// targetMembers is the number of members, if the job has enough hosts. With three members, one
// may be lost.
const targetMembers = 3

// reconfigure replaces a member that is lost, or on a host that is to leave, by another node.
// Members change one at a time. So every majority before a change and every majority after it
// have a node in common [Raft, 4.1], and neither elects a head while the lease of the head that
// makes the change is in force. For the same reason no further change begins while a lease that
// rests on the earlier members may be in force.
func (n *Node) reconfigure(now time.Duration) {
	if !n.Leads(now) || len(n.first) == 1 {
		return
	}
	state := n.log.state
	if n.lead.changing {
		if !slices.Equal(state.Members, n.lead.next) {
			return
		}
		n.lead.changing = false
	}
	e, needed := n.change(now)
	if !needed {
		n.tellDeciders()
		return
	}
	start, ok := n.backed(state.Members, now)
	if !ok || n.lead.longest > start+n.timing.Lease {
		return
	}
	after := &decision.State{Deciders: decision.Deciders{Members: slices.Clone(state.Members)}}
	after.Apply(e)
	n.lead.changing, n.lead.next = true, after.Members
	if err := n.propose(e); err != nil {
		n.act(Broken{err})
		return
	}
	n.drain(now)
}

// change returns the next change of members that is needed. It removes lost members and adds other
// nodes. If only two members are left and there is no third host, the head removes the other
// member: then only the loss of the head ends the job, not the loss of either. A member on a host
// that is to leave is removed after another node has been added, or after the host has left: the
// agent there ends after the removal. No node on such a host is added.
func (n *Node) change(now time.Duration) (e decision.Entry, needed bool) {
	members := n.log.state.Members
	for _, id := range members {
		if id != n.self && n.isLost(id) {
			return decision.Entry{Kind: decision.Removed, At: n.elapsed(now), Node: id}, true
		}
	}
	id, hosts := n.candidate(now)
	if len(members) >= targetMembers {
		return n.relieve(id, now)
	}
	switch {
	case len(members)+hosts < targetMembers && !n.handedOver(n.self):
		for _, other := range members {
			if other != n.self {
				return decision.Entry{Kind: decision.Removed, At: n.elapsed(now), Node: other}, true
			}
		}
	case id != 0:
		return decision.Entry{Kind: decision.Added, At: n.elapsed(now), Node: id}, true
	}
	return e, false
}

// relieve returns the next change that replaces a member on a host that is to leave, by id. Between
// two changes there is one member more, but no more of them may be lost. So relieve waits until all
// members respond.
func (n *Node) relieve(id ID, now time.Duration) (e decision.Entry, needed bool) {
	members := n.log.state.Members
	at := slices.IndexFunc(members, func(m ID) bool { return m != n.self && n.hasLeft(m) })
	if at < 0 {
		at = slices.IndexFunc(members, func(m ID) bool { return m != n.self && n.leaves(m) })
	}
	switch {
	case at < 0:
		return e, false
	case len(members) > targetMembers:
		return decision.Entry{Kind: decision.Removed, At: n.elapsed(now), Node: members[at]}, true
	case id != 0 && !slices.ContainsFunc(append(slices.Clone(members), id), func(m ID) bool { return m != n.self && n.quiet(m, now) }):
		return decision.Entry{Kind: decision.Added, At: n.elapsed(now), Node: id}, true
	case id == 0 && n.hasLeft(members[at]):
		return decision.Entry{Kind: decision.Removed, At: n.elapsed(now), Node: members[at]}, true
	}
	return e, false
}

// leaves reports whether the host of a node is to leave the job.
func (n *Node) leaves(id ID) bool {
	return slices.ContainsFunc(n.log.state.Leaving, func(l decision.Leave) bool { return n.beside(l.Node, id) })
}

// hasLeft reports whether the host of a node has left.
func (n *Node) hasLeft(id ID) bool {
	return slices.ContainsFunc(n.log.state.Leaving, func(l decision.Leave) bool {
		return n.beside(l.Node, id) && n.log.state.HasLeft(l.Node)
	})
}

// beside reports whether two nodes are on one host. There is no node 0.
func (n *Node) beside(a, b ID) bool {
	i, known := n.place[a]
	return known && n.roster[i].Host == n.roster[n.place[b]].Host
}

// candidate returns the first responding node on a host without a member, or 0 if there is
// none now. hosts counts the hosts without a member that have a live node.
func (n *Node) candidate(now time.Duration) (id ID, hosts int) {
	var taken []string
	for _, p := range n.roster {
		if n.isMember(p.ID) {
			taken = append(taken, p.Host)
		}
	}
	var others []string
	for _, p := range n.roster {
		if p.ID == n.self || n.isLost(p.ID) || n.leaves(p.ID) || slices.Contains(taken, p.Host) {
			continue
		}
		if !slices.Contains(others, p.Host) {
			others = append(others, p.Host)
		}
		s, _ := n.observer.Sighting(p.ID, now)
		if id == 0 && n.peers[p.ID].seq > 0 && !s.Suspect() && !n.lead.proposed[p.ID] {
			id = p.ID
		}
	}
	return id, len(others)
}

// tellDeciders reports the members that keep the decisions once after each change.
func (n *Node) tellDeciders() {
	state := n.log.state
	if n.lead.reported == state.Changes {
		return
	}
	for _, id := range state.Members {
		if id != n.self && n.log.behind(id) {
			return // reported later
		}
	}
	n.lead.reported = state.Changes
	var hosts []string
	for _, p := range n.roster {
		if n.isMember(p.ID) {
			hosts = append(hosts, p.Host)
		}
	}
	d := Deciders{Members: slices.Clone(state.Members)}
	switch last := len(hosts) - 1; {
	case last == 0:
		d.Text = fmt.Sprintf("losing the head on %s ends the job: there is no third host any more to keep its decisions", hosts[0])
	default:
		d.Text = fmt.Sprintf("the decisions of the head are kept on %s and %s now", strings.Join(hosts[:last], ", "), hosts[last])
	}
	n.act(d)
}

// applyMembership records the members as of a number of membership changes. A node that has
// already recorded as many changes ignores the call.
func (n *Node) applyMembership(changes uint64, members []ID, now time.Duration) {
	if changes <= n.changes || len(members) == 0 {
		return
	}
	for _, id := range members {
		if _, there := n.place[id]; !there {
			return
		}
	}
	n.changes = changes
	n.ring.setMembers(members)
	n.greet(now)
}

// greet begins to exchange beats with all nodes that this node has to meet.
func (n *Node) greet(now time.Duration) {
	for _, p := range n.roster {
		if n.peers[p.ID] == nil && n.meet(n.self, p.ID) {
			n.know(p.ID, now, n.began+n.timing.Join)
		}
	}
}

// begin makes this node keep the decisions when it receives them from the head of the term.
func (n *Node) begin(m *raftpb.Message) bool {
	if ID(m.GetFrom()) != n.leader || m.GetTerm() != n.term {
		return false
	}
	switch m.GetType() {
	case raftpb.MsgApp, raftpb.MsgSnap, raftpb.MsgHeartbeat:
	default:
		return false
	}
	var err error
	if n.log, err = newReplica(n.self, n.first); err != nil {
		n.act(Broken{err})
		return false
	}
	return true
}
