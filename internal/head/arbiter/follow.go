package arbiter

import (
	"fmt"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/intrahpc/intra/internal/base/detect"
)

// follow obeys the head of the highest term.
func (n *Node) follow(m *Message) {
	if m.Term > n.term && m.Leader != 0 && m.Leader != n.self {
		n.term, n.leader, n.headSeq, n.ready = m.Term, m.Leader, 0, 0
		n.act(Leader{m.Leader, m.Term})
	}
	if m.From == n.leader && m.Term == n.term && m.Leader != m.From {
		n.leader = 0 // it has yielded, and nobody has come after it yet
	}
}

// promise has a member elect nobody but the head that sent m for as long as
// the lease which that head may derive from m can last.
func (n *Node) promise(m *Message, now time.Duration) {
	if n.log == nil || m.From != n.leader || m.Leader != m.From || m.Term != n.term || m.Seq <= n.headSeq {
		return
	}
	// A head that does not hear us can have no use for a promise, and would
	// keep us from electing one that does. A member that has voted in a later
	// election is bound by its vote.
	heard, _ := n.observer.Sighting(m.From, now)
	if heard.Age <= detour*n.timing.Detect.Interval && n.log.status().GetTerm() <= m.Term {
		n.headSeq = m.Seq
		n.promised = max(n.promised, now+n.timing.promise())
	}
}

// stand has a member stand for election once it is free to do so: its promise
// is over, and there is no head or one that it suspects.
func (n *Node) stand(now time.Duration) {
	if !n.free(now) {
		n.ready = 0
		return
	}
	if n.ready == 0 {
		n.ready = now
	}
	rank := time.Duration(n.rank())
	if now < n.ready+rank*n.timing.Stagger || now < n.next {
		return
	}
	n.next = now + (1+rank)*n.timing.Detect.Interval
	n.log.campaign()
}

// rank is the place of this member among those that may follow the head.
func (n *Node) rank() (rank int) {
	head := n.leader
	if n.term == 0 {
		head = Head
	}
	for _, id := range n.members {
		if id < n.self && id != head {
			rank++
		}
	}
	return rank
}

// free: this member may elect another head than the one it has.
func (n *Node) free(now time.Duration) bool {
	head := n.leader
	switch {
	case now < n.promised:
		return false
	case n.term == 0 && n.self != Head: // the first head is the one that has started the job
		head = Head
		if n.peers[Head].seq == 0 && now < n.began+n.timing.Join {
			return false
		}
	case head == 0 || head == n.self:
		return true
	}
	s, _ := n.observer.Sighting(head, now)
	if !n.log.state.Started { // hosts that have just begun to start processes may be slow
		return s.Silence >= n.timing.Detect.Ceiling
	}
	return s.Suspect()
}

// hearRaft hands a word of another member to the log, unless it asks for a
// vote, or brings one, that this member may not use now. Who is told decisions
// by its head begins to keep them, though it may not know yet that it is a
// member; nor do those always who are asked for a vote know who is one.
func (n *Node) hearRaft(m *raftpb.Message, now time.Duration) {
	if n.log == nil && !n.begin(m) {
		return
	}
	switch m.GetType() {
	case raftpb.MsgVote, raftpb.MsgPreVote:
		first := n.term == 0 && m.GetFrom() == uint64(Head)
		if !first && !n.free(now) {
			return
		}
	case raftpb.MsgPreVoteResp:
		if now < n.promised { // we have heard the head again
			return
		}
	}
	if err := n.log.step(m); err != nil {
		return // it is late, or the log is broken, which drain tells
	}
}

// abandon gives up when there has been no lease for long: whoever could give
// one has declared this host lost, or is lost itself.
func (n *Node) abandon(now time.Duration) {
	awake := now - n.observer.Late()
	if now < n.until {
		n.held = awake
		return
	}
	silent := awake - n.held
	switch {
	case n.leased && silent > n.timing.Abandon:
		n.fence(fmt.Sprintf("no head has been heard from for %.1f s: it is lost, or this host is cut off", silent.Seconds()))
	case !n.leased && silent > n.timing.Join:
		n.fence(fmt.Sprintf("no head has been found within %v: can the hosts send each other UDP datagrams?", n.timing.Join))
	}
}

// beat sends a beat to every peer.
func (n *Node) beat(now time.Duration) {
	if n.fenced {
		return
	}
	n.seq++
	n.sent[n.seq%history] = now
	leads := n.Leads(now)
	for _, id := range n.order {
		p := n.peers[id]
		if n.isLost(id) {
			continue
		}
		m := &Message{
			From: n.self, To: id, Seq: n.seq, Echo: p.seq, Direct: p.seqDirect,
			Term: n.term, Leader: n.leader, Epoch: uint64(len(n.verdicts)), Changes: n.changes,
		}
		if p.changes < n.changes {
			m.Members = n.members
		}
		if id == n.leader {
			m.Promised = n.headSeq
		}
		if n.isMember(id) {
			m.Sightings = n.sightings(id, now)
		}
		if leads {
			m.Grant = n.grant(id, p)
			m.Verdicts = n.news(id, p)
		}
		n.post(m, now)
	}
}

func (n *Node) isLost(id ID) bool {
	if n.log == nil {
		return false
	}
	_, lost := n.log.state.Lost[id]
	return lost
}

// sightings is what this node has seen of all but the one it tells.
func (n *Node) sightings(to ID, now time.Duration) []detect.Sighting {
	all := make([]detect.Sighting, 0, len(n.order))
	for _, id := range n.order {
		if s, ok := n.observer.Sighting(id, now); ok && id != to && !n.isLost(id) {
			all = append(all, s)
		}
	}
	return all
}

// detour is how many intervals without a direct round trip make a node take a
// detour.
const detour = 4

// post sends m to the node it is for. When there has been no direct round trip
// to it lately, m goes through others as well, so that a link which is dead, or
// half so, leaves nobody without a lease. That is for the beats with members,
// whom everybody knows.
func (n *Node) post(m *Message, now time.Duration) {
	n.act(Send{m.To, m})
	if !n.quiet(m.To, now) || !n.isMember(n.self) && !n.isMember(m.To) {
		return
	}
	through := 0
	for _, id := range n.order {
		if n.meet(id, m.To) && !n.quiet(id, now) && through < 2 {
			n.act(Send{id, m})
			through++
		}
	}
}

func (n *Node) quiet(id ID, now time.Duration) bool {
	return now-n.peers[id].direct > detour*n.timing.Detect.Interval
}

// passOn takes a message one step further, to where it is for.
func (n *Node) passOn(m *Message) {
	if m.Via != 0 || n.peers[m.To] == nil {
		return
	}
	via := *m
	via.Via = n.self
	n.act(Send{m.To, &via})
}
