package section

import (
	"fmt"
	"time"

	"github.com/intrahpc/intra/sched"
)

// Machine is the section protocol of one replica. Its methods are not safe
// for concurrent use.
type Machine struct {
	me    int
	peers []peer

	number uint64 // number of the open or next section, from 0
	first  uint64 // the first section that this replica takes part in
	round

	now        time.Duration // time of the last event that had one; never decreases
	chain      uint64        // signature of all sections entered
	signatures [256]uint64   // signatures of the last sections, to check late frames
	inbox      inbox
	acts       []Action
}

// round is the state of the open section.
type round struct {
	open     bool
	shape    sched.Shape
	sig      uint64
	tasks    []task
	left     int       // number of tasks neither run nor received
	begun    int       // all tasks with a lower index are running, have run or were received
	ready    sched.Set // tasks that are neither claimed nor assigned to a peer, and not done
	claims   []int     // tasks with at least one claim by a peer
	unmet    []int     // tasks of claims that are neither done nor expected from a peer; look computes them for Next
	assigned []bool    // by peer: this replica waits for the block of the peer, in a static schedule
	met      bool      // a peer has claimed a task of the section or sent an update
	patience func(task int) time.Duration
	times    func(task int) *Times // nil: no durations are known
	held     time.Duration         // open tasks are left to the peers until this time; 0: they are not left
}

// peer is the state of another replica, according to the frames from it.
type peer struct {
	dead     bool
	seen     bool // a frame about a section has arrived from it
	finished bool
	sections uint64 // number of sections of its program, once finished
	ahead    uint64 // the highest section in any of its frames
	clock    clock
}

// task is one task of the open section.
type task struct {
	state    state
	claimant bool    // a claim of this replica was sent to the peers
	reserved int     // peer whose update is being received into the memory of the task, -1: none
	has      []bool  // by replica: it is known to have the result
	skipped  []bool  // by replica: its update was discarded here
	claims   []claim // by replica
	claimed  int     // number of entries of claims that are set
}

// claim holds the time at which a peer claimed a task. since is by the clock of this replica; 0:
// no claim. at is by the clock of the peer; 0: unknown.
type claim struct{ since, at time.Duration }

// state is the state of a task on this replica.
type state uint8

const (
	todo state = iota
	running
	ranHere
	received
)

// Action is one step that the caller takes for the Machine. It takes the steps in order.
type Action struct {
	Kind  ActionKind
	Task  int
	Peer  int
	Token any // identifies the update of Apply or Drop
}

// ActionKind is the kind of an Action.
type ActionKind uint8

// The actions.
const (
	Send  ActionKind = iota // send the update of Task to Peer
	Claim                   // send Peer a claim: this replica has started Task
	Apply                   // copy the update Token into the regions of Task
	Drop                    // the update Token is not needed
)

// Divergence reports that two replicas of a rank diverged.
type Divergence struct {
	Section      uint64
	Task         int // -1: the divergence does not concern a single task
	Replica      int // this replica
	Peer         int
	Mine, Theirs string
}

func (d *Divergence) Error() string {
	at := fmt.Sprintf("section %d", d.Section)
	if d.Task >= 0 {
		at += fmt.Sprintf(", task %d", d.Task)
	}
	return fmt.Sprintf("replicas %d and %d diverged at %s: here %s, there %s", d.Replica, d.Peer, at, d.Mine, d.Theirs)
}

// Config describes the group of replicas.
type Config struct {
	Replica    int
	Replicas   int   // number at the start of the job
	InboxBytes int64 // bound of the frames kept for later sections, by peer
}

// New returns the machine of one replica before its first section.
func New(c Config) *Machine {
	return &Machine{me: c.Replica, peers: make([]peer, c.Replicas), inbox: newInbox(c.Replicas, c.InboxBytes),
		round: round{assigned: make([]bool, c.Replicas)}}
}

// Position describes the state of a rank between two sections. A replica that starts from
// it continues like the other replicas.
type Position struct {
	Number uint64 `json:"number"` // number of the next section
	Chain  uint64 `json:"chain"`  // signature of the sections before
	Once   uint64 `json:"once"`   // number of the next call of Once
	Deaths uint64 `json:"deaths"` // number of deaths in the rank so far, as counted by Once

	// Results holds the results of the next call of Once and of later ones, by number.
	Results map[uint64][]byte `json:"results,omitempty"`
}

// NewAt returns the machine of a replica that begins at a position. All its peers are dead
// until Alive is called for them.
func NewAt(c Config, at Position) *Machine {
	m := New(c)
	m.number, m.first, m.chain = at.Number, at.Number, at.Chain
	for p := range m.peers {
		m.peers[p].dead = p != m.me
	}
	return m
}

// Position returns the position of this replica, without the fields that Once.Position
// sets.
func (m *Machine) Position() Position { return Position{Number: m.number, Chain: m.chain} }

// Alive revives a dead peer: it takes part again, beginning with the next section. All replicas
// call it between the same two sections.
func (m *Machine) Alive(p int) {
	m.peers[p] = peer{ahead: m.number}
	m.inbox.forget(p)
}

// Number returns the number of the open section, or of the next one.
func (m *Machine) Number() uint64 { return m.number }

// Chain returns the signature of all sections entered so far, in order. Replicas
// whose programs have returned must agree on it and on Number.
func (m *Machine) Chain() uint64 { return m.chain }

// Entry describes a section at its entry: all its tasks have been launched.
type Entry struct {
	Policy    sched.Policy
	Tasks     int
	Signature uint64
	// Patience returns how long a claim of a task by a peer delays this replica. A peer that
	// is known to be slower gets more time.
	Patience func(task int) time.Duration
	// Times returns the known durations of tasks of the same type, and the machine adds to
	// them. If Times is nil, no durations are known or kept.
	Times func(task int) *Times
}

// Enter opens the next section, and handles the updates and claims that arrived
// early.
func (m *Machine) Enter(e Entry, now time.Duration) ([]Action, error) {
	m.shape = sched.Shape{Policy: e.Policy, Tasks: e.Tasks, Replicas: len(m.peers), Backward: m.number%2 == 1}
	m.left, m.patience, m.times = e.Tasks, e.Patience, e.Times
	if err := m.opened(e.Signature, now); err != nil {
		return nil, err
	}
	m.resize(e.Tasks)
	for _, f := range m.inbox.take(m.number) {
		if err := m.agree(f.peer, f.task, f.tasks, f.sig); err != nil {
			return m.acts, err
		}
		switch {
		case !f.claim:
			m.arrived(f.peer, f.task, f.at, f.token)
		case !m.inbox.skipped(f.peer, m.number): // otherwise the update that follows may have been skipped, too
			m.claimedBy(f.peer, f.task, claim{since: m.now, at: f.at})
		}
	}
	return m.acts, nil
}

// Pass skips the next section, which the replicas complete in another way. From then on
// frames about it are late.
func (m *Machine) Pass(tasks int, signature uint64, now time.Duration) ([]Action, error) {
	m.shape = sched.Shape{Policy: sched.Replicate, Tasks: tasks, Replicas: len(m.peers)}
	m.left = 0
	defer m.Leave()
	if err := m.opened(signature, now); err != nil {
		return nil, err
	}
	for _, f := range m.inbox.take(m.number) {
		if err := m.agree(f.peer, f.task, f.tasks, f.sig); err != nil {
			return m.acts, err
		}
		if !f.claim {
			m.acts = append(m.acts, Action{Kind: Drop, Token: f.token})
		}
	}
	return m.acts, nil
}

// opened checks the signature of the section that is entered, and records it.
func (m *Machine) opened(signature uint64, now time.Duration) error {
	m.begin(now)
	m.open, m.met, m.sig = true, false, signature
	m.signatures[m.number%uint64(len(m.signatures))] = signature
	m.chain = m.chain*0x9e3779b97f4a7c15 + signature + uint64(m.shape.Tasks)
	for p := range m.peers {
		if err := m.outlasted(p); err != nil {
			return err
		}
	}
	return nil
}

func (m *Machine) begin(now time.Duration) {
	m.acts = m.acts[:0]
	m.now = max(m.now, now)
}

// agree checks that a frame belongs to the section as this replica launched it.
func (m *Machine) agree(p, t, tasks int, sig uint64) error {
	if sig == m.sig && tasks == m.shape.Tasks {
		return nil
	}
	d := &Divergence{Section: m.number, Task: t, Replica: m.me, Peer: p}
	if tasks != m.shape.Tasks {
		d.Mine, d.Theirs = fmt.Sprintf("%d tasks were launched", m.shape.Tasks), fmt.Sprintf("%d", tasks)
	} else {
		d.Mine = fmt.Sprintf("the tasks, shapes and small arguments have signature %016x", m.sig)
		d.Theirs = fmt.Sprintf("%016x", sig)
	}
	return d
}

// gone reports that p will send nothing more about the open section. Frames arrive in
// order, so a frame about a later section implies this.
func (m *Machine) gone(p int) bool {
	return m.peers[p].dead || m.peers[p].finished || m.peers[p].ahead > m.number
}

// Step is the next action of a replica in a section.
type Step struct {
	Kind  StepKind
	Task  int           // the task of a Run
	Until time.Duration // of Wait: call Next again then, unless an event occurs first; 0: no limit
}

// StepKind is the kind of a Step.
type StepKind uint8

// The steps.
const (
	Run  StepKind = iota // run Task, then call Ran
	Wait                 // wait for a peer
	Done                 // all results have arrived: call Leave once all sends have been handed over
)

// Next returns the next step. With the adaptive schedule it also sends a claim of the task
// to the peers. Several tasks may run on this replica at once: a replica with several
// cores calls Next again while others run. Wait then means that no task is left to start.
func (m *Machine) Next(now time.Duration) (Step, []Action) {
	m.begin(now)
	if m.left == 0 {
		return Step{Kind: Done}, nil
	}
	m.held = 0
	m.look()
	t, ok := sched.Next(m.shape, m.me, view{m})
	if !ok {
		return Step{Kind: Wait, Until: m.nextExpiry()}, nil
	}
	m.tasks[t].state = running
	m.refresh(t)
	if m.shape.Policy == sched.Adaptive {
		m.tasks[t].claimant = true
		m.toPeersWithout(Claim, t)
	}
	return Step{Kind: Run, Task: t}, m.acts
}

// nextExpiry returns the earliest time at which a claim that delays this replica expires.
func (m *Machine) nextExpiry() time.Duration {
	if m.shape.Policy == sched.Static {
		return 0
	}
	first := m.held
	for _, i := range m.claims {
		t := &m.tasks[i]
		if t.state != todo || t.reserved >= 0 {
			continue
		}
		var last time.Duration // a task becomes free when its last claim expires
		for p := range t.claims {
			if m.believed(i, p) {
				last = max(last, m.until(i, p))
			}
		}
		if last > 0 && (first == 0 || last < first) {
			first = last
		}
	}
	return first
}

// Ran records that the body of t has returned on this replica. It sends the update to
// every peer that may still need it.
func (m *Machine) Ran(t int) []Action {
	m.begin(m.now)
	m.tasks[t].state = ranHere
	m.left--
	if m.shape.Policy != sched.Replicate || m.tasks[t].claimant {
		m.toPeersWithout(Send, t)
	}
	return m.acts
}

// Withdraw makes this replica complete the open section alone. The schedule of the section
// is adaptive. The replica runs every task of which it has no update, and claims none. It
// still sends the results of tasks that it claimed before, because its peers wait for
// them.
func (m *Machine) Withdraw() {
	m.shape.Policy = sched.Replicate
	for t := range m.shape.Tasks {
		m.refresh(t)
	}
}

func (m *Machine) toPeersWithout(kind ActionKind, t int) {
	for p := range m.peers {
		if p != m.me && !m.gone(p) && !m.tasks[t].has[p] {
			m.acts = append(m.acts, Action{Kind: kind, Task: t, Peer: p})
		}
	}
}

// Leave closes the section. All results must have arrived. All updates must have been
// handed over, because the program may change the memory afterwards.
func (m *Machine) Leave() {
	m.open = false
	m.number++
}

// Dead removes a peer once all its frames have been delivered. Its claims become void.
func (m *Machine) Dead(p int) { m.peers[p].dead = true }

// Finished records that the program of a peer has returned after that number of
// sections: the peer has sent all its updates.
func (m *Machine) Finished(p int, sections uint64) error {
	m.peers[p].finished, m.peers[p].sections = true, sections
	return m.outlasted(p)
}

// outlasted reports a divergence if this replica opened more sections than p,
// whose program has returned.
func (m *Machine) outlasted(p int) error {
	if q := &m.peers[p]; q.finished && m.open && q.sections <= m.number {
		return &Divergence{Section: m.number, Task: -1, Replica: m.me, Peer: p,
			Mine: "the section was opened", Theirs: fmt.Sprintf("the program returned after %d sections", q.sections)}
	}
	return nil
}

// Met reports whether a peer takes part in section, the last one that this replica has entered
// or passed. A peer takes part if it has claimed a task or sent an update. A live peer also
// takes part if it is known to have reached the section.
func (m *Machine) Met(section uint64) bool {
	for p := range m.peers {
		if q := &m.peers[p]; p != m.me && q.seen && !q.dead && q.ahead >= section {
			return true
		}
	}
	return m.met
}

// Alone reports whether a live peer has not yet sent any frame about a section.
func (m *Machine) Alone() bool {
	for p := range m.peers {
		if q := &m.peers[p]; p != m.me && !q.dead && !q.finished && !q.seen {
			return true
		}
	}
	return false
}

// Behind returns the lowest section reached by a live peer that has not reached
// section; ok is false if there is no such peer.
func (m *Machine) Behind(section uint64) (last uint64, ok bool) {
	for p := range m.peers {
		if q := &m.peers[p]; p != m.me && !q.dead && !q.finished && q.ahead < section && (!ok || q.ahead < last) {
			last, ok = q.ahead, true
		}
	}
	return last, ok
}

// Early reports whether a peer has sent frames about the next section, which this replica
// has not entered.
func (m *Machine) Early() bool { return len(m.inbox.early[m.number]) > 0 }

// Missing returns the first task that is neither received, run nor running on this
// replica, -1 if there is none.
func (m *Machine) Missing() int {
	for ; m.begun < m.shape.Tasks; m.begun++ {
		if m.tasks[m.begun].state == todo {
			return m.begun
		}
	}
	return -1
}

// Signature returns the signature of the open section.
func (m *Machine) Signature() uint64 { return m.sig }

// Adopted reports whether a dead replica owned t.
func (m *Machine) Adopted(t int) bool {
	owner := sched.Owner(m.shape.Tasks, m.shape.Replicas, t)
	return m.shape.Policy != sched.Replicate && m.peers[owner].dead
}

// Live reports whether p is not known to be dead.
func (m *Machine) Live(p int) bool { return !m.peers[p].dead }
