package arbiter

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// ErrNotHead means that this node may not propose. Only the head may, while it has its lease.
var ErrNotHead = errors.New("this node is not the head")

// Node is one process of the launcher. Its methods are not safe for concurrent
// use. Times are of the clock of its host (lease.Now) and never go back.
type Node struct {
	*ring
	self   ID
	roster []Peer
	first  []ID // the first members
	timing Timing

	observer *detect.Observer
	peers    map[ID]*peer
	order    []ID // order of the peers
	seq      uint64
	sent     [history]time.Duration // when beat seq was sent, at seq % history

	term    uint64        // the highest term whose head is known
	leader  ID            // the head of term, 0 if it has yielded
	yielder ID            // the head that has yielded, while leader is 0
	until   time.Duration // end of this node's lease, as an agent or as the head
	leased  bool          // this node has had a lease
	held    time.Duration // when it last had a lease, in time awake
	began   time.Duration
	fenced  bool

	started bool          // all processes have joined, as far as this node knows
	zero    time.Duration // when all processes had joined

	log      *replica      // nil if this node is not a member
	headSeq  uint64        // the head's beat for which this member made its last promise
	promised time.Duration // end of the promise to elect no other head
	ready    time.Duration // since when this member wants to stand for election; 0: it does not
	next     time.Duration // when it stands for election again
	lead     lead
	changes  uint64        // number of changes of the members that this node knows
	verdicts []job.Verdict // verdicts that this node knows
	actions  []Action
}

// history bounds a round trip, in beats.
const history = 256

// peer is a node's knowledge about another one with which it exchanges beats. "Own" beats are
// those of the node that has this knowledge, and "the peer's" are those of the other one.
type peer struct {
	seq        uint64        // the peer's highest beat
	came       time.Duration // when that beat arrived
	seqDirect  uint64        // the peer's highest beat that arrived without a detour
	echo       uint64        // the highest own beat that the peer has received
	echoDirect uint64        // the highest own beat that the peer has received without a detour
	direct     time.Duration // when the peer's last report of echoDirect arrived
	due        time.Duration // before its first beat, it is declared lost only after this time
	promised   uint64        // the highest own beat, as the head, for which the peer has promised
	since      time.Duration // when this node sent that beat
	epoch      uint64        // number of verdicts that the peer knows
	changes    uint64        // number of changes of the members that the peer knows
	sightings  map[ID]report // the peer's sightings of other nodes
}

type report struct {
	detect.Sighting
	at time.Duration // when the report arrived
}

// Action is one step that the driver takes for the node, in order.
type Action interface{ action() }

// The actions.
type (
	// Send sends a message to a node. The receiver may have to forward it.
	Send struct {
		To      ID
		Message *Message
	}
	// Lead reports that this node is the head now. State holds all decisions so far, but not those
	// of later Committed actions. Began is set only if all processes have joined: it is the time at
	// which they had, by the clock of this host. After is the head that has handed over to this
	// one, 0 if the last head was lost.
	Lead struct {
		Term  uint64
		After ID
		State *decision.State
		Began time.Duration
	}
	// Yield reports that this node is no longer the head.
	Yield struct{ Term uint64 }
	// Leader reports that another node is the head now.
	Leader struct {
		ID   ID
		Term uint64
	}
	// Committed reports that a majority of the members keeps a decision. The head acts on it
	// now.
	Committed struct{ Entry decision.Entry }
	// Deciders reports, on the head only, that the members have changed. They will not change
	// again before another one is lost.
	Deciders struct {
		Members []ID
		Text    string
	}
	// Verdict reports the next verdict. All nodes report the verdicts in the same order.
	Verdict struct{ job.Verdict }
	// Handled reports, on the head only, that a node knows the verdicts up to an epoch.
	Handled struct {
		Node  ID
		Epoch uint64
	}
	// Lease reports that processes of this host may act until Until.
	Lease struct{ Until time.Duration }
	// Meet reports that a node has joined the running job. The driver has to be able to send to it,
	// and to receive from it, before it carries out the next action.
	Meet struct{ Peer }
	// Suspected reports that the head has begun to suspect a node.
	Suspected struct{ Evidence detect.Evidence }
	// Fence reports that the processes of this host must be killed. The node no longer takes
	// part.
	Fence struct{ Why string }
	// Broken reports that this node can no longer keep the decision log.
	Broken struct{ Err error }
)

func (Send) action()      {}
func (Lead) action()      {}
func (Yield) action()     {}
func (Leader) action()    {}
func (Committed) action() {}
func (Deciders) action()  {}
func (Verdict) action()   {}
func (Handled) action()   {}
func (Lease) action()     {}
func (Meet) action()      {}
func (Suspected) action() {}
func (Fence) action()     {}
func (Broken) action()    {}

// NewNode returns a node of a job that starts now.
func NewNode(self ID, roster []Peer, timing Timing, now time.Duration) (*Node, error) {
	if err := errors.Join(checkRoster(roster), timing.check()); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(roster, func(p Peer) bool { return p.ID == self }) {
		return nil, fmt.Errorf("%w: node %d is not in it", ErrRoster, self)
	}
	n := newNode(self, roster, timing, now)
	n.greet(now)
	if n.isMember(self) {
		var err error
		if n.log, err = newReplica(self, n.first); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// newNode returns a node that exchanges beats with no other one yet.
func newNode(self ID, roster []Peer, timing Timing, now time.Duration) *Node {
	members, _ := Plan(roster)
	return &Node{
		ring: newRing(roster, members), self: self, roster: roster, first: members, timing: timing,
		observer: detect.NewObserver(timing.Detect, now),
		peers:    make(map[ID]*peer),
		began:    now,
		held:     now,
	}
}

// State returns the state of all decisions that this member knows. It returns nil at a node
// that is not a member. The caller must not change it.
func (n *Node) State() *decision.State {
	if n.log == nil {
		return nil
	}
	return n.log.state
}

// Head returns the head that this node obeys, and its term. Both are 0 before the first head
// is known.
func (n *Node) Head() (ID, uint64) { return n.leader, n.term }

// Tick does the periodic work. The driver calls it once per interval of beats.
func (n *Node) Tick(now time.Duration) []Action {
	if n.fenced {
		return nil
	}
	n.observer.Wake(now)
	if n.log != nil {
		if n.log.leads() && n.leader == 0 && n.yielder == n.self && n.self != Head && now >= n.next {
			n.log.stepDown() // no other node has succeeded this head, so this node stands for election again
		}
		if n.log.leads() {
			n.log.tick()
			n.renew(now)
		} else {
			n.stand(now)
		}
		n.drain(now)
		n.judge(now)
		n.reconfigure(now)
		n.resign(now)
	}
	n.abandon(now)
	n.beat(now)
	return n.take()
}

// Receive handles a message of another node.
func (n *Node) Receive(m *Message, now time.Duration) []Action {
	if n.fenced || m.check() != nil {
		return nil
	}
	if m.To == n.self {
		n.applyMembership(m.Changes, m.Members, now)
	}
	p := n.peers[m.From]
	if p == nil {
		return n.take()
	}
	if m.To != n.self {
		n.passOn(m)
		return n.take()
	}
	n.observer.Wake(now)
	if m.Lost != "" {
		n.fence("this host has been declared lost: " + m.Lost)
		return n.take()
	}
	if n.log != nil {
		if loss, lost := n.log.state.Lost[m.From]; lost {
			n.act(Send{m.From, &Message{From: n.self, To: m.From, Lost: loss.Text}})
			return n.take()
		}
	}
	n.follow(m)
	n.recordBeat(p, m, now)
	n.promise(m, now)
	for _, r := range m.Raft {
		n.receiveRaft(r, now)
	}
	n.drain(now)
	if n.lead.fresh { // the new head may be able to declare losses at once
		n.lead.fresh = false
		n.judge(now)
	}
	return n.take()
}

// Propose asks the members to decide e, in pieces if e is long. Committed reports the
// decision. If this node stops being the head before that, e may still be decided; the State
// of the next Lead shows whether it was.
func (n *Node) Propose(e decision.Entry, now time.Duration) ([]Action, error) {
	if !n.Leads(now) {
		return nil, ErrNotHead
	}
	if err := n.propose(e); err != nil {
		return nil, err
	}
	n.drain(now)
	return n.take(), nil
}

func (n *Node) propose(e decision.Entry) error {
	parts, err := decision.Split(e)
	if err != nil {
		return err
	}
	for _, p := range parts {
		data, err := p.Encode()
		if err != nil {
			return err
		}
		if err := n.log.propose(data); err != nil {
			return err
		}
	}
	return nil
}

// elapsed returns the time since all processes had joined.
func (n *Node) elapsed(now time.Duration) time.Duration {
	if !n.started {
		return 0
	}
	return max(now-n.zero, 0)
}

// date computes when all processes had joined, from the times of decisions. No decision is
// received before its time, so the earliest zero that the times allow is the most accurate.
func (n *Node) date(now time.Duration) {
	if s := n.log.state; s.Started && (!n.started || now-s.Latest < n.zero) {
		n.started, n.zero = true, now-s.Latest
	}
}

func (n *Node) act(a Action) { n.actions = append(n.actions, a) }

func (n *Node) take() []Action {
	a := n.actions
	n.actions = nil
	return a
}

// recordBeat records a beat of p.
func (n *Node) recordBeat(p *peer, m *Message, now time.Duration) {
	if m.Echo > p.echo && m.Echo <= n.seq {
		p.echo = m.Echo
		n.observer.Contact(m.From, now)
		if m.Leader == m.From && m.Term == n.term && m.Grant > 0 && n.seq-m.Echo < history {
			n.extend(n.sent[m.Echo%history] + m.Grant)
		}
	}
	if m.Via == 0 {
		p.seqDirect = max(p.seqDirect, m.Seq)
		if m.Direct > p.echoDirect {
			p.echoDirect, p.direct = m.Direct, now
		}
	}
	if m.Seq <= p.seq {
		return // reordered or duplicated
	}
	p.seq, p.came = m.Seq, now
	if m.Epoch > p.epoch {
		p.epoch = m.Epoch
		if n.lead.announced {
			n.act(Handled{m.From, m.Epoch})
		}
	}
	for _, s := range m.Sightings {
		p.sightings[s.Host] = report{s, now}
	}
	if m.Term == n.lead.term && m.Promised > p.promised && m.Promised <= n.seq && n.seq-m.Promised < history {
		p.promised, p.since = m.Promised, n.sent[m.Promised%history]
		n.renew(now)
	}
	p.changes = max(p.changes, m.Changes)
	for _, v := range m.Verdicts {
		n.learn(v)
	}
}

// learn records a verdict if it is the next one.
func (n *Node) learn(v job.Verdict) {
	if v.Epoch == uint64(len(n.verdicts))+1 {
		n.verdicts = append(n.verdicts, v)
		n.act(Verdict{v})
	}
}

// extend lengthens the lease.
func (n *Node) extend(until time.Duration) {
	if until > n.until {
		n.until, n.leased = until, true
		n.act(Lease{until})
	}
}

func (n *Node) fence(why string) {
	n.fenced, n.until = true, 0
	n.act(Lease{0})
	n.act(Fence{why})
}

// drain sends the messages of the log, and reports and applies its decisions.
func (n *Node) drain(now time.Duration) {
	if n.log == nil {
		return
	}
	words := make(map[ID][]*raftpb.Message)
	broken, known := n.log.broken != nil, len(n.verdicts)
	err := n.log.drain(func(m *raftpb.Message) {
		words[ID(m.GetTo())] = append(words[ID(m.GetTo())], m)
	}, func(e decision.Entry) {
		n.log.state.Apply(e)
		n.act(Committed{e})
		n.announce()
	})
	n.announce() // a snapshot may contain verdicts
	n.admitHosts(now)
	n.date(now)
	n.applyMembership(n.log.state.Changes, n.log.state.Members, now)
	for _, p := range n.order {
		for _, w := range words[p] {
			n.post(&Message{From: n.self, To: p, Raft: []*raftpb.Message{w}}, now)
		}
	}
	if err != nil && !broken {
		n.act(Broken{err})
	}
	n.checkLead(now)
	if len(n.verdicts) > known && n.Leads(now) {
		n.beat(now) // a verdict does not wait for the next interval of beats
	}
}

// announce learns the verdicts of the log.
func (n *Node) announce() {
	all := n.log.state.Verdicts
	for _, v := range all[min(len(n.verdicts), len(all)):] { // a new member may know some verdicts before it has the log
		n.learn(v.Verdict)
	}
}
