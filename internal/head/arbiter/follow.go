package arbiter

import (
	"fmt"
	"slices"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/intrahpc/intra/internal/base/detect"
)

// follow records the head of the highest term, which this node obeys.
func (n *Node) follow(m *Message) {
	if m.Term > n.term && m.Leader != 0 && m.Leader != n.self {
		n.term, n.leader, n.headSeq, n.ready = m.Term, m.Leader, 0, 0
		n.act(Leader{m.Leader, m.Term})
	}
	if m.From == n.leader && m.Term == n.term && m.Leader != m.From {
		n.leader, n.yielder = 0, m.From // the head of that term has yielded, and has no successor yet
	}
}

// promise makes a member promise to elect no other head than the sender of m. The promise lasts as
// long as any lease that the sender can derive from the member's echo of m.
func (n *Node) promise(m *Message, now time.Duration) {
	if n.log == nil || m.From != n.leader || m.Leader != m.From || m.Term != n.term || m.Seq <= n.headSeq {
		return
	}
	// A head that does not receive from this node cannot use a promise. The promise would only
	// keep this node from electing a head that does. A member that has voted in a later
	// election is bound by its vote.
	sighting, _ := n.observer.Sighting(m.From, now)
	if sighting.Age <= detour*n.timing.Detect.Interval && n.log.status().GetTerm() <= m.Term {
		n.headSeq = m.Seq
		n.promised = max(n.promised, now+n.timing.promise())
	}
}

// stand makes a member stand for election once it is free to do so: its promise has expired,
// and it knows no head or suspects the head.
func (n *Node) stand(now time.Duration) {
	if !n.free(now) {
		n.ready = 0
		return
	}
	if n.ready == 0 {
		n.ready = now
	}
	rank := time.Duration(n.rank())
	wait := rank * n.timing.Stagger
	if n.relays() {
		wait += 2 * n.timing.promise()
	}
	if now < n.ready+wait || now < n.next {
		return
	}
	n.next = now + (1+rank)*n.timing.Detect.Interval
	n.log.campaign()
}

// rank returns the position of this member in the list of possible successors of the head.
// Members on hosts that are to leave come last.
func (n *Node) rank() (rank int) {
	head := n.leader
	switch {
	case n.term == 0:
		head = Head
	case head == 0:
		head = n.yielder
	}
	leaves := n.leaves(n.self)
	for _, id := range n.members {
		if id == n.self || id == head {
			continue
		}
		if other := n.leaves(id); !other && leaves || other == leaves && id < n.self {
			rank++
		}
	}
	return rank
}

// bound reports whether a promise keeps this member from electing another head. A promise ends when
// its head yields after the decision to hand over is committed. The successor then knows that
// decision, and so it knows that leases may still be in force.
func (n *Node) bound(now time.Duration) bool {
	return now < n.promised && !(n.leader == 0 && n.handedOver(n.yielder))
}

// handedOver reports whether the decision that a node hands over as the head is committed.
func (n *Node) handedOver(id ID) bool { return slices.Contains(n.log.state.Resigned, id) }

// relays reports whether this node is the first head and has handed over. It can then no longer act
// as the head, so it never leads. It still stands for election when no other node can be elected,
// since it may be the only one that has all decisions: it passes them on (checkLead).
func (n *Node) relays() bool { return n.self == Head && n.handedOver(Head) }

// free reports whether this member may elect another head.
func (n *Node) free(now time.Duration) bool {
	head := n.leader
	switch {
	case n.bound(now):
		return false
	case n.term == 0 && n.self != Head: // the first head is the node that has started the job
		head = Head
		if n.peers[Head].seq == 0 && now < n.began+n.timing.Join {
			return false
		}
	case head == 0 || head == n.self:
		return true
	}
	s, _ := n.observer.Sighting(head, now)
	if !n.log.state.Started { // hosts that still start their processes may be slow
		return s.Silence >= n.timing.Detect.Ceiling
	}
	return s.Suspect()
}

// receiveRaft passes a message of another member to the log, unless the message requests or
// grants a vote that this member must not use now.
//
// A node that receives decisions from its head begins to keep them: it has become a member,
// though it may not know that yet. A node that is asked for a vote may not know the members
// either. So votes are not checked against the list of members.
func (n *Node) receiveRaft(m *raftpb.Message, now time.Duration) {
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
		if n.bound(now) { // this member has received a beat of the head meanwhile
			return
		}
	}
	if err := n.log.step(m); err != nil {
		return // the message is late, or the log is broken, which drain reports
	}
}

// abandon fences this host when it has had no lease for a long time: the head has declared the host
// lost, or the head itself is lost.
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
			m.Verdicts = n.verdictsFor(id, p)
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

// sightings returns this node's sightings of all nodes except the receiver.
func (n *Node) sightings(to ID, now time.Duration) []detect.Sighting {
	all := make([]detect.Sighting, 0, len(n.order))
	for _, id := range n.order {
		if s, ok := n.observer.Sighting(id, now); ok && id != to && !n.isLost(id) {
			all = append(all, s)
		}
	}
	return all
}

// detour is the number of intervals without a direct round trip after which a node also
// sends its messages through other nodes.
const detour = 4

// post sends m to its destination. If there was no direct round trip lately, it also sends m
// through two other nodes. So no node loses its lease because one network link fails, in one
// direction or both. Only messages to or from members take this detour, since all nodes
// exchange beats with members.
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

// passOn forwards a message to its destination. A message is forwarded at most once.
func (n *Node) passOn(m *Message) {
	if m.Via != 0 || n.peers[m.To] == nil {
		return
	}
	via := *m
	via.Via = n.self
	n.act(Send{m.To, &via})
}
