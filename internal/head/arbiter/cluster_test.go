package arbiter

import (
	"container/heap"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

const (
	ms   = time.Millisecond
	us   = time.Microsecond
	ever = time.Duration(math.MaxInt64)
)

// cluster runs nodes against a simulated network and clocks, and checks all
// invariants after every event. Times are true time unless their comment names
// a node's clock.
type cluster struct {
	rng    *rand.Rand
	timing Timing
	nodes  map[ID]*simNode
	ids    []ID
	now    time.Duration
	queue  queue
	count  uint64

	delay    time.Duration  // the longest delay of a message, apart from stalls
	loss     float64        // probability that a message is lost
	cut      map[[2]ID]bool // severed directions: from, to
	busy     bool           // nodes are late, as on a machine with four times too much work
	excused  map[ID]bool    // nodes that may be declared lost
	resigned map[ID]time.Duration
	sabotage func(n *Node, m *Message, now time.Duration)

	verdicts []job.Verdict // in the order of their announcement
	events   []string
	err      error
}

type simNode struct {
	*Node
	rate    float64
	offset  time.Duration
	inbox   []*Message
	stall   time.Duration // the node does nothing until then
	killed  time.Duration // 0: alive
	word    time.Duration // the lease that its processes have, by its clock
	seen    int           // number of verdicts seen
	reports []string      // the reported members that keep the decisions
	leads   []time.Duration
	lost    map[ID]time.Duration // when the node committed the loss of each other node
	shut    bool
	term    uint64 // the highest term that the node has obeyed
}

func (s *simNode) clock(t time.Duration) time.Duration {
	return s.offset + time.Duration(float64(t)*s.rate)
}

// newCluster makes a head and agents, each on a host of its own. With beside = 0 the first agent
// shares the head's host.
func newCluster(seed uint64, agents, beside int, timing Timing) *cluster {
	c := &cluster{
		rng: rand.New(rand.NewPCG(seed, 7)), timing: timing, nodes: make(map[ID]*simNode), cut: make(map[[2]ID]bool),
		excused: make(map[ID]bool), resigned: make(map[ID]time.Duration), delay: ms,
	}
	roster := []Peer{{ID: Head, Host: "h0"}}
	for i := range agents {
		roster = append(roster, Peer{ID: ID(2 + i), Host: fmt.Sprint("h", i+beside)})
	}
	for _, p := range roster {
		// The rates of clocks differ by as much as the timing allows.
		s := &simNode{rate: 1 + timing.Drift*(2*c.rng.Float64()-1), offset: time.Duration(c.rng.Int64N(int64(time.Hour))), lost: make(map[ID]time.Duration)}
		switch c.rng.IntN(3) {
		case 0:
			s.rate = 1 + timing.Drift
		case 1:
			s.rate = 1 - timing.Drift
		}
		n, err := NewNode(p.ID, roster, timing, s.clock(0))
		if err != nil {
			panic(err)
		}
		s.Node = n
		if n.log != nil && seed%3 == 0 { // members that are behind then get snapshots
			n.log.keep = 3
		}
		c.nodes[p.ID] = s
		c.ids = append(c.ids, p.ID)
		c.at(time.Duration(c.rng.Int64N(int64(timing.Detect.Interval))), func() { c.tick(s) })
	}
	return c
}

func (c *cluster) logf(format string, args ...any) {
	c.events = append(c.events, fmt.Sprintf("%8.3f ", c.now.Seconds())+fmt.Sprintf(format, args...))
}

func (c *cluster) failf(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("at %v: %s", c.now, fmt.Sprintf(format, args...))
		c.logf("FAILED: %v", c.err)
	}
}

// run advances true time until t or the first failure.
func (c *cluster) run(t time.Duration) error {
	for c.err == nil && len(c.queue) > 0 && c.queue[0].at <= t {
		e := heap.Pop(&c.queue).(event)
		c.now = e.at
		e.f()
		c.check()
	}
	c.now = max(c.now, t)
	return c.err
}

func (c *cluster) tick(s *simNode) {
	if s.killed != 0 {
		return
	}
	if c.now < s.stall {
		c.at(s.stall, func() { c.tick(s) })
		return
	}
	c.read(s)
	c.before(s, nil)
	c.do(s, s.Tick(s.clock(c.now)))
	late := c.lateness()
	next := c.now + time.Duration(float64(c.timing.Detect.Interval)/s.rate)
	c.at(next+late, func() { c.tick(s) })
	if late > ms { // messages that arrive meanwhile are delayed too
		c.at(next, func() { s.stall = max(s.stall, next+late) })
	}
}

func (c *cluster) before(s *simNode, m *Message) {
	if c.sabotage != nil {
		c.sabotage(s.Node, m, s.clock(c.now))
	}
}

func (c *cluster) deliver(s *simNode, m *Message) {
	if s.killed != 0 {
		return
	}
	s.inbox = append(s.inbox, m)
	if c.now >= s.stall {
		c.read(s)
	}
}

func (c *cluster) read(s *simNode) {
	inbox := s.inbox
	s.inbox = nil
	for _, m := range inbox {
		c.before(s, m)
		c.do(s, s.Receive(m, s.clock(c.now)))
	}
}

func (c *cluster) send(from *simNode, to ID, m *Message) {
	if c.rng.Float64() < c.loss {
		return
	}
	if c.rng.IntN(50) == 0 { // also tests the codec, now and then
		b, err := m.encode()
		if err == nil {
			m, err = decodeMessage(b)
		}
		if err != nil {
			c.failf("a message of %d does not survive its encoding: %v", from.self, err)
			return
		}
	}
	copies := 1
	if c.rng.IntN(100) == 0 {
		copies = 2
	}
	for range copies {
		d := 20*us + time.Duration(c.rng.Int64N(int64(c.delay)))
		if c.rng.IntN(200) == 0 {
			d += 10 * c.delay // other messages overtake this one
		}
		c.at(c.now+d, func() {
			if !c.cut[[2]ID{from.self, to}] {
				c.deliver(c.nodes[to], m)
			}
		})
	}
}

// do carries out the actions of a node.
func (c *cluster) do(s *simNode, actions []Action) {
	if s.Node.term < s.term {
		c.failf("%d went back from term %d to %d", s.self, s.term, s.Node.term)
	}
	s.term = s.Node.term
	for _, a := range actions {
		switch a := a.(type) {
		case Send:
			c.send(s, a.To, a.Message)
		case Lease:
			s.word = a.Until
		case Lead:
			s.leads = append(s.leads, c.now)
			c.logf("%d leads in term %d", s.self, a.Term)
		case Yield:
			c.logf("%d yields term %d", s.self, a.Term)
		case Leader:
			c.logf("%d follows %d in term %d", s.self, a.ID, a.Term)
		case Verdict:
			c.verdict(s, a.Verdict)
		case Committed:
			if a.Entry.Kind == decision.Resigned && a.Entry.Node == s.self {
				c.resigned[s.self] = c.now
				c.logf("%d resigns", s.self)
				defer func() { c.do(s, s.Resign(s.clock(c.now))) }()
			}
			if a.Entry.Kind == decision.Lost {
				s.lost[a.Entry.Node] = c.now
				c.logf("%d records that %d is lost: %s", s.self, a.Entry.Node, a.Entry.Text)
				c.lostNode(a.Entry.Node)
			}
		case Deciders:
			s.reports = append(s.reports, a.Text)
			c.logf("%d: %s", s.self, a.Text)
		case Suspected:
			c.logf("%d suspects %v", s.self, a.Evidence)
		case Fence:
			s.shut = true
			c.logf("%d is fenced: %s", s.self, a.Why)
			if !c.excused[s.self] {
				c.failf("%d was fenced: %s", s.self, a.Why)
			}
		case Broken:
			c.failf("%d: %v", s.self, a.Err)
		}
	}
}

// verdict checks that every node has the same verdicts in the same order.
func (c *cluster) verdict(s *simNode, v job.Verdict) {
	if s.seen < len(c.verdicts) {
		if c.verdicts[s.seen] != v {
			c.failf("%d announces %v, another had announced %v", s.self, v, c.verdicts[s.seen])
		}
	} else {
		c.verdicts = append(c.verdicts, v)
	}
	s.seen++
	if v.Epoch != uint64(s.seen) {
		c.failf("%d announces epoch %d after %d", s.self, v.Epoch, s.seen-1)
	}
}

// lostNode checks that a node that is declared lost can no longer act, and that there was a
// reason to declare it lost.
func (c *cluster) lostNode(id ID) {
	s := c.nodes[id]
	if !c.excused[id] {
		c.failf("%d is declared lost, but lives and answers", id)
	}
	if s.killed == 0 && s.clock(c.now) < s.word {
		c.failf("%d is declared lost %v before its lease is over", id, s.word-s.clock(c.now))
	}
}

// check checks that at most one node leads, and that at most one node may act
// as the head.
func (c *cluster) check() {
	head := ID(0)
	for _, id := range c.ids {
		s := c.nodes[id]
		if s.killed != 0 || s.log == nil || !s.Leads(s.clock(c.now)) {
			continue
		}
		if head != 0 {
			c.failf("both %d and %d lead, in terms %d and %d", head, id, c.nodes[head].Node.term, s.Node.term)
		}
		head = id
	}
	if head == 0 {
		return
	}
	// A node that holds a lease got it from this head, or has lost it: no lease outlasts the
	// lease of the head that granted it.
	for _, id := range c.ids {
		s := c.nodes[id]
		if _, lost := c.nodes[head].log.state.Lost[id]; lost && s.killed == 0 && s.clock(c.now) < s.word {
			c.failf("%d may act although the head %d has declared it lost", id, head)
		}
	}
}

// head returns the node that leads now, 0 if none does.
func (c *cluster) head() ID {
	for _, id := range c.ids {
		if s := c.nodes[id]; s.killed == 0 && s.log != nil && s.Leads(s.clock(c.now)) {
			return id
		}
	}
	return 0
}

// propose makes the present head propose an entry.
func (c *cluster) propose(e decision.Entry) bool {
	h := c.head()
	if h == 0 || c.now < c.nodes[h].stall {
		return false
	}
	s := c.nodes[h]
	actions, err := s.Propose(e, s.clock(c.now))
	if err != nil {
		c.failf("propose: %v", err)
	}
	c.do(s, actions)
	return true
}

// work places two processes on each agent and kills one of them now and then.
func (c *cluster) work(until time.Duration) {
	for i, id := range c.ids {
		if id == Head {
			continue
		}
		for r := range 2 {
			c.at(500*ms+time.Duration(i)*ms, func() {
				p := job.Process{Rank: i, Replica: r}
				c.propose(decision.Entry{Kind: decision.Placed, Process: p, Incarnation: 1, Node: id, ID: p})
			})
		}
	}
	c.at(600*ms, func() { c.propose(decision.Entry{Kind: decision.Started}) })
	for t := time.Second; t < until; t += time.Duration(c.rng.Int64N(int64(400 * ms))) {
		switch c.rng.IntN(32) {
		case 0, 1, 2, 3:
			p := job.Process{Rank: 1 + c.rng.IntN(len(c.ids)), Replica: c.rng.IntN(2)}
			c.at(t, func() {
				c.propose(decision.Entry{Kind: decision.Died, Process: p, Incarnation: 1, Cause: job.CauseSignal, Text: "killed"})
			})
		case 4: // an entry that takes several pieces
			c.at(t, func() {
				set := &decision.Set{Number: uint64(t), Files: make(decision.Files, 2000)}
				for r := range set.Files {
					set.Files[r].Rank = r
				}
				c.propose(decision.Entry{Kind: decision.SetWhole, Set: set})
			})
		default:
			c.at(t, func() { c.propose(decision.Entry{Kind: decision.Injected, At: t}) })
		}
	}
}

// kill ends the host of a node permanently.
func (c *cluster) kill(id ID) {
	c.nodes[id].killed = c.now
	c.excused[id] = true
	c.logf("%d is killed", id)
}

// split cuts the network into the given group and the rest.
func (c *cluster) split(group []ID) {
	for _, a := range c.ids {
		for _, b := range c.ids {
			if slices.Contains(group, a) != slices.Contains(group, b) {
				c.cut[[2]ID{a, b}] = true
			}
		}
	}
	c.logf("%v is cut off", group)
}

func (c *cluster) heal() {
	clear(c.cut)
	c.logf("the network is whole")
}

// survivors returns the nodes that should remain: alive and not fenced.
func (c *cluster) survivors() (all []ID) {
	for _, id := range slices.Sorted(maps.Keys(c.nodes)) {
		if s := c.nodes[id]; s.killed == 0 && !s.shut {
			all = append(all, id)
		}
	}
	return all
}
