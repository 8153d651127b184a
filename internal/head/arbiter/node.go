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

// ErrNotHead: only the head may propose, and only while it has its lease.
var ErrNotHead = errors.New("this node is not the head")

// Node is one process of the launcher. Its methods are not safe for concurrent
// use. Times are of the clock of its host (lease.Now) and never go back.
type Node struct {
	*ring
	self   ID
	roster []Peer
	first  []ID // the members in the beginning
	timing Timing

	observer *detect.Observer
	peers    map[ID]*peer
	order    []ID // of peers
	seq      uint64
	sent     [history]time.Duration // when beat seq was sent, at seq % history

	term   uint64        // the highest in which a head is known
	leader ID            // the head of term, 0 if it has yielded
	until  time.Duration // our lease, as an agent or as the head
	leased bool          // we have had one
	held   time.Duration // when we had one last, in time awake
	began  time.Duration
	fenced bool

	started bool          // all have joined, as far as is known here,
	zero    time.Duration // and when

	log      *replica      // nil if we are no member
	headSeq  uint64        // the head's beat by which we have promised,
	promised time.Duration // until then, to elect nobody else
	ready    time.Duration // when we first wanted to stand for election, 0 = we do not
	next     time.Duration // when we stand again
	lead     lead
	changes  uint64        // of the members, known here
	verdicts []job.Verdict // known here
	actions  []Action
}

// history is how many beats a round trip may take.
const history = 256

// peer is what a node knows of one that it exchanges beats with.
type peer struct {
	seq        uint64        // its highest beat,
	came       time.Duration // and when it came
	seqDirect  uint64        // its highest beat that came without a detour
	echo       uint64        // our highest beat that it has had
	echoDirect uint64        // likewise without a detour,
	direct     time.Duration // and when we learnt that
	promised   uint64        // our highest beat, as the head, by which it has promised,
	since      time.Duration // and when we sent that
	epoch      uint64        // verdicts that it knows
	changes    uint64        // of the members that it knows
	sightings  map[ID]report // what it has seen of others
}

type report struct {
	detect.Sighting
	at time.Duration // when it came
}

// Action is something a node wants done, in order.
type Action interface{ action() }

// The actions.
type (
	// Send sends a message to a node, which is not always the one it is for.
	Send struct {
		To      ID
		Message *Message
	}
	// Lead: this node is the head now, and State is what has been decided. What
	// is Committed after this is not in it. All had joined at Began, by the clock
	// of this host, if they have.
	Lead struct {
		Term  uint64
		State *decision.State
		Began time.Duration
	}
	// Yield: this node is no longer the head.
	Yield struct{ Term uint64 }
	// Leader: another node is the head now.
	Leader struct {
		ID   ID
		Term uint64
	}
	// Committed: a decision is kept by a majority of the members. The head acts
	// on it now.
	Committed struct{ Entry decision.Entry }
	// Deciders: those who keep the decisions have changed, and will not change
	// again before another one is lost. The head says so.
	Deciders struct {
		Members []ID
		Text    string
	}
	// Verdict: the next verdict, in the same order everywhere.
	Verdict struct{ job.Verdict }
	// Handled tells the head that a node knows the verdicts up to an epoch.
	Handled struct {
		Node  ID
		Epoch uint64
	}
	// Lease: processes of this host may act until then.
	Lease struct{ Until time.Duration }
	// Suspected: the head has begun to suspect a node.
	Suspected struct{ Evidence detect.Evidence }
	// Fence: the processes of this host must be killed, and this node is out.
	Fence struct{ Why string }
	// Broken: the decision log can no longer be kept here.
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
	members, _ := Plan(roster)
	n := &Node{
		ring: newRing(roster, members), self: self, roster: roster, first: members, timing: timing,
		observer: detect.NewObserver(timing.Detect, now),
		peers:    make(map[ID]*peer),
		began:    now,
		held:     now,
	}
	n.greet(now)
	if n.isMember(self) {
		var err error
		if n.log, err = newReplica(self, members); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// State is what has been decided, as far as this member knows; nil at a node
// that is no member. The caller must not change it.
func (n *Node) State() *decision.State {
	if n.log == nil {
		return nil
	}
	return n.log.state
}

// Head returns the head that this node obeys and its term, 0 before the first.
func (n *Node) Head() (ID, uint64) { return n.leader, n.term }

// Tick is called once per interval of beats.
func (n *Node) Tick(now time.Duration) []Action {
	if n.fenced {
		return nil
	}
	n.observer.Wake(now)
	if n.log != nil {
		if n.log.leads() {
			n.log.tick()
			n.renew(now)
		} else {
			n.stand(now)
		}
		n.drain(now)
		n.judge(now)
		n.reconfigure(now)
	}
	n.abandon(now)
	n.beat(now)
	return n.take()
}

// Receive takes in a message of another node.
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
	n.hear(p, m, now)
	n.promise(m, now)
	for _, r := range m.Raft {
		n.hearRaft(r, now)
	}
	n.drain(now)
	if n.lead.fresh { // it may know at once who is lost
		n.lead.fresh = false
		n.judge(now)
	}
	return n.take()
}

// Propose asks the members to decide e, in pieces if it is long. It is decided
// when Committed comes with it; when this node stops being the head before that, it may or may not
// be, and what State says after the next Lead counts.
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

// elapsed is the time since all had joined.
func (n *Node) elapsed(now time.Duration) time.Duration {
	if !n.started {
		return 0
	}
	return max(now-n.zero, 0)
}

// date finds out when all had joined, from the times of decisions: none comes
// before it was made.
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

// hear counts a beat of p.
func (n *Node) hear(p *peer, m *Message, now time.Duration) {
	if m.Echo > p.echo && m.Echo <= n.seq {
		p.echo = m.Echo
		n.observer.Heard(m.From, now)
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
		return // late or twice
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

// learn takes the next verdict in.
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

// drain carries out what the log wants.
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
		if e.Kind == decision.Added || e.Kind == decision.Removed {
			return
		}
		n.act(Committed{e})
		n.announce()
	})
	n.announce() // after a snapshot
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
		n.beat(now) // nobody should wait for a verdict
	}
}

// announce learns the verdicts of the log.
func (n *Node) announce() {
	all := n.log.state.Verdicts
	for _, v := range all[min(len(n.verdicts), len(all)):] { // a new member has heard of some before
		n.learn(v.Verdict)
	}
}
