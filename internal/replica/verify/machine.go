package verify

import (
	"fmt"
	"slices"
)

// Machine is the protocol of one replica. Its methods are not safe for concurrent
// use.
type Machine struct {
	me     int
	peers  []peer
	deaths uint64 // number of deaths in the rank so far; all replicas count the same deaths

	open       bool
	section    uint64 // number of the section that is being verified, or was verified last
	signature  uint64
	tasks      []int // the sampled tasks
	mine       []ballot
	left       int  // number of sampled tasks that have not run
	complete   bool // the results of all other tasks of the section have arrived, too
	again      bool // the results of repeated runs were sent
	result     *Result
	equal      bool // all first results were equal, so no peer has to confirm the result
	sentResult bool // this replica has sent the result
	last       left // the previous section, in which peers may still be; no peer is in an earlier one
	err        error
	acts       []Action
}

// ballot holds the results of this replica for a task.
type ballot struct {
	entry   uint64
	runs    []Run
	running bool // a repeated run is in progress
}

// left is a section that this replica left because all first results were equal.
type left struct {
	section, signature uint64
	result             *Result // nil: the result was sent to the peers, or there is none
}

// peer is the state of another replica.
type peer struct {
	dead   bool
	blamed bool
	said   map[uint64]*said // by section
}

// said is a peer's report of a section.
type said struct {
	signature uint64
	first     []uint64
	again     []Again
	result    *Result
	firstAt   uint64 // 1 + the number of deaths that its sender had handled when it sent its first results; 0: not reported
}

// Word is a message from one replica to another.
type Word struct {
	Section   uint64
	Signature uint64 // signature of the section
	Deaths    uint64 // number of deaths that the sender has handled
	First     []uint64
	Again     []Again
	Result    *Result
}

// Again is the outcome of a task that ran once more.
type Again struct {
	Index         int // index of the task among the sampled ones
	Entry         uint64
	First, Second Run
}

// Result is the outcome of a section on which the replicas of a rank agree.
type Result struct {
	Right    []uint64 // results of the sampled tasks
	Differed []int    // sampled tasks whose results were not all equal
	Faulty   []Faulty
}

// Action is one step that the caller takes for the Machine. It takes the steps in order.
type Action struct {
	Kind  ActionKind
	Peer  int   // receiver of a Say
	Word  *Word // message of a Say
	Index int   // index of the task of a Rerun
}

// ActionKind is the kind of an Action.
type ActionKind uint8

// The actions of the protocol.
const (
	Say   ActionKind = iota // send Word to Peer
	Rerun                   // run a task again from the entry state of the section, then call Ran
)

// Mismatch reports that a peer verifies a section with another signature or other
// tasks.
type Mismatch struct {
	Section uint64
	Peer    int
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("replica %d verifies section %d with other tasks, shapes or arguments", m.Peer, m.Section)
}

// New returns the machine of the given replica of the rank.
func New(replica, replicas int) *Machine {
	m := &Machine{me: replica, peers: make([]peer, replicas)}
	for p := range m.peers {
		m.peers[p].said = make(map[uint64]*said)
	}
	return m
}

// NewAt returns the machine of a replica that starts after that number of deaths
// in its rank. All its peers are dead until Alive is called for them.
func NewAt(replica, replicas int, deaths uint64) *Machine {
	m := New(replica, replicas)
	m.deaths = deaths
	for p := range m.peers {
		m.peers[p].dead = p != replica
	}
	return m
}

// Alive revives a dead peer. All replicas call it between the same two sections.
func (m *Machine) Alive(p int) { m.peers[p] = peer{said: make(map[uint64]*said)} }

// Enter opens a section in which these tasks are sampled.
func (m *Machine) Enter(section, signature uint64, tasks []int) {
	m.last = left{}
	if m.equal && !m.sentResult {
		m.last = left{m.section, m.signature, m.result}
	}
	m.open, m.complete, m.again, m.equal, m.sentResult, m.left = true, false, false, false, false, len(tasks)
	m.section, m.signature, m.tasks, m.result, m.err = section, signature, tasks, nil, nil
	m.mine = slices.Grow(m.mine[:0], len(tasks))[:len(tasks)]
	for i := range m.mine {
		m.mine[i] = ballot{runs: m.mine[i].runs[:0]}
	}
}

// Ran records that a sampled task has run on this replica. entry is the hash of the state
// from which it began. It matters only for a repeated run.
func (m *Machine) Ran(index int, entry uint64, r Run) []Action {
	m.acts = m.acts[:0]
	b := &m.mine[index]
	b.running, b.runs = false, append(b.runs, r)
	if len(b.runs) > 1 {
		b.entry = entry
	} else if m.left--; m.left == 0 {
		m.sayFirst() // sent now, so that the message arrives while other tasks run
	}
	m.advance()
	return m.acts
}

// Complete records that the results of all tasks of the section have arrived. No task is
// repeated before that.
func (m *Machine) Complete() []Action {
	m.acts = m.acts[:0]
	m.complete = true
	m.advance()
	return m.acts
}

// Receive handles a message from a peer.
func (m *Machine) Receive(p int, w *Word) []Action {
	m.acts = m.acts[:0]
	if w.Section < m.section || w.Section == m.section && !m.open && m.result != nil {
		if w.Result != nil {
			m.answer(w.Section)
		}
		return m.acts // this replica has left that section
	}
	q := &m.peers[p]
	s := q.said[w.Section]
	if s == nil {
		s = &said{signature: w.Signature}
		q.said[w.Section] = s
	}
	switch {
	case w.Result != nil:
		s.result = w.Result
	case w.Again != nil:
		s.again = w.Again
	default:
		s.first, s.firstAt = w.First, w.Deaths+1
	}
	m.advance()
	return m.acts
}

// answer sends the result of a section that this replica left because all first results
// were equal. The asking peer holds the result of a dead replica, and waits until all live
// replicas hold it.
func (m *Machine) answer(section uint64) {
	switch section {
	case m.section:
		m.sayResult()
	case m.last.section:
		m.sayLast()
	}
}

// Dead removes a peer once all its messages have been handled.
func (m *Machine) Dead(p int) []Action {
	m.acts = m.acts[:0]
	if !m.peers[p].dead {
		m.deaths++
	}
	m.peers[p].dead = true
	m.sayLast()
	switch {
	case m.result != nil:
		m.sayResult()
	case m.open && m.left == 0:
		m.sayFirst()
	}
	m.advance()
	return m.acts
}

// Done reports whether the section can be left, or why it cannot be verified.
func (m *Machine) Done() (*Result, error) {
	switch {
	case m.err != nil:
		return nil, m.err
	case m.result == nil:
		return nil, nil
	case m.equal && !m.sentResult:
		return m.result, nil
	}
	for p := range m.peers {
		if s := m.peers[p].said[m.section]; m.lives(p) && (s == nil || s.result == nil) {
			return nil, nil
		}
	}
	return m.result, nil
}

// Leave closes the section, and keeps its result for peers that do not know it.
func (m *Machine) Leave() {
	m.open = false
	for _, g := range m.result.Faulty {
		m.peers[g.Replica].blamed = true
	}
	for p := range m.peers {
		delete(m.peers[p].said, m.section)
	}
}

// Counts reports whether this replica counts the outcome for the rank. The lowest live replica
// that is not faulty does so.
func (m *Machine) Counts(r *Result) bool {
	lowest := -1
	for p := range m.peers {
		if p != m.me && m.peers[p].dead {
			continue
		}
		if !slices.ContainsFunc(r.Faulty, func(g Faulty) bool { return g.Replica == p }) {
			return p == m.me
		}
		if lowest < 0 {
			lowest = p
		}
	}
	return lowest == m.me
}

// Runs returns the runs of a sampled task on this replica.
func (m *Machine) Runs(index int) []Run { return m.mine[index].runs }

// Missing returns a live peer that the section waits for, -1 if there is none.
func (m *Machine) Missing() int {
	for p := range m.peers {
		if s := m.peers[p].said[m.section]; m.lives(p) && (s == nil || m.result != nil && s.result == nil || m.result == nil && s.firstAt <= m.deaths) {
			return p
		}
	}
	return -1
}

func (m *Machine) lives(p int) bool { return p != m.me && !m.peers[p].dead }

// alone reports whether all other replicas are dead.
func (m *Machine) alone() bool {
	for p := range m.peers {
		if m.lives(p) {
			return false
		}
	}
	return true
}

// advance performs all steps that the state allows.
func (m *Machine) advance() {
	if !m.open || !m.complete || m.err != nil {
		return
	}
	for p := range m.peers {
		s := m.peers[p].said[m.section]
		switch {
		case p == m.me || s == nil:
		case m.peers[p].dead && s.signature == m.signature && s.result == nil && len(s.first) != len(m.tasks):
			delete(m.peers[p].said, m.section) // the dead peer had passed a consistent cut that the other replicas had not reached; since that cut other tasks are sampled
		case s.signature != m.signature || s.first != nil && len(s.first) != len(m.tasks) || s.result != nil && !s.result.of(len(m.tasks)):
			m.err = &Mismatch{m.section, p}
			return
		case m.result == nil && s.result != nil:
			m.hold(s.result)
		case s.result != nil && !m.peers[p].dead:
			m.sayResult()
		}
	}
	switch {
	case m.result != nil:
	case m.alone():
		m.judgeAlone()
	default:
		m.compare()
	}
}

// of reports whether r can be the result of a section with that number of sampled tasks.
func (r *Result) of(tasks int) bool {
	other := func(i int) bool { return i < 0 || i >= tasks }
	return len(r.Right) == tasks && !slices.ContainsFunc(r.Differed, other) &&
		!slices.ContainsFunc(r.Faulty, func(g Faulty) bool { return other(g.Index) })
}

// first returns the result of the section, if the first runs here are right.
func (m *Machine) first() *Result {
	r := &Result{Right: make([]uint64, len(m.mine))}
	for i := range m.mine {
		r.Right[i] = m.mine[i].runs[0].Hash
	}
	return r
}

func (m *Machine) own(i int) Ballot {
	return Ballot{Replica: m.me, Entry: m.mine[i].entry, Runs: m.mine[i].runs}
}

// theirs returns what a peer has reported about a task.
func (m *Machine) theirs(p, i int) Ballot {
	b, s := Ballot{Replica: p}, m.peers[p].said[m.section]
	if s == nil {
		return b
	}
	for k := range s.again {
		if a := &s.again[k]; a.Index == i {
			b.Entry, b.Runs = a.Entry, []Run{a.First, a.Second}
			return b
		}
	}
	if s.first != nil {
		b.Runs = []Run{{Hash: s.first[i], Core: -1}}
	}
	return b
}

// rerun orders a run of task i if it has run fewer than times times.
func (m *Machine) rerun(i, times int) {
	if b := &m.mine[i]; len(b.runs) < times && !b.running {
		b.running = true
		m.acts = append(m.acts, Action{Kind: Rerun, Index: i})
	}
}

// hold records a result with which peers may continue, and sends it to all
// peers.
func (m *Machine) hold(r *Result) {
	m.result = r
	m.sayResult()
}

func (m *Machine) sayFirst() {
	m.say(Word{Section: m.section, Signature: m.signature, First: m.first().Right})
}

func (m *Machine) sayAgain(disputed []int) {
	all := make([]Again, 0, len(disputed))
	for _, i := range disputed {
		b := &m.mine[i]
		all = append(all, Again{i, b.entry, b.runs[0], b.runs[1]})
	}
	m.say(Word{Section: m.section, Signature: m.signature, Again: all})
}

func (m *Machine) sayResult() {
	if !m.sentResult {
		m.sentResult = true
		m.say(Word{Section: m.section, Signature: m.signature, Result: m.result})
	}
}

func (m *Machine) sayLast() {
	if l := &m.last; l.result != nil {
		m.say(Word{Section: l.section, Signature: l.signature, Result: l.result})
		l.result = nil
	}
}

func (m *Machine) say(w Word) {
	w.Deaths = m.deaths
	for p := range m.peers {
		if m.lives(p) {
			m.acts = append(m.acts, Action{Kind: Say, Peer: p, Word: &w})
		}
	}
}
