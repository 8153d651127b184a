package recovery

import (
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
)

// Config says what a job does about failures.
type Config struct {
	Degrees []int
	Start   bool   // new processes may be started for lost ones
	Spares  int    // processes that wait without a rank
	Backup  Policy // when backups are taken
	// Compared: backups are taken only at safe points with a multiple of this number, at
	// which replicas compare their states; 0: at any.
	Compared uint64
	// Suspect: only a share of the tasks are compared, so a process may have erred for a
	// while before it is found (Distrust). Older backups are kept for that. Until the first
	// one is complete, which is taken at the first safe point, all tasks are compared.
	Suspect bool
	Files   Files
	// From is the safe point at which all processes begin, in a job that goes
	// on from files; 0: they begin anew.
	From uint64
	// Host tells hosts apart, so that a backup does not die with its rank. The
	// zero value puts every process on one host.
	Host func(job.Process) string
}

// Head decides what is done about failures. Its events are methods; each
// returns what is to be done, in order. It does not decide who is dead. What
// another head has to know is kept before anything follows from it: a Decision
// by the action Keep, and before the event is told that a process was started
// for a place (Arrived), has died, finished or drained: all of which the Snapshot
// is folded from.
type Head struct {
	config       Config
	replicas     []*replica
	of           map[job.Process]*replica
	incarnations uint32 // the highest that was given to a process or to a rollback
	generation   uint32 // counts rollbacks
	spares       int
	now          time.Duration
	failures     Failures
	rest         bool // a rank has finished: no cut until a rollback
	// through are the ranks that have finished and whose messages all have
	// been received: the others can do without them, unless the job goes back.
	through map[int]bool
	over    bool

	cut      cut
	round    uint64 // how often all were asked how far they are
	next     uint64 // the planned cut, 0 if there is none
	backupAt uint64 // the next cut for a backup, 0 if there is none
	filesAt  uint64 // and for files
	set      uint64 // the number of the next set of files
	saving   saving
	rate     rate
	entire   bool         // where tasks are sampled: all are compared, since no backup is complete yet
	unlike   bool         // replicas of a rank had different states where a backup was taken
	complete *backup      // that a rollback can go to
	older    []*backup    // complete ones from before it, ascending, that Distrust can go to
	attempt  *backup      // being stored
	voidBy   job.Endpoint // who died last, of those that may have held it, while there was a backup to go back to
	back     rollback
	acts     []Action
}

// status is what there is of a replica.
type status uint8

const (
	empty    status = iota // nobody
	starting               // a process was asked for
	arrived                // a process waits for its state
	live
	finished // live, and its program has returned
)

// replica is the place of one replica of a rank, and the process in it.
type replica struct {
	process     job.Process
	status      status
	state       State
	incarnation uint32        // of the process in it
	frames      uint32        // incarnation that its frames carry: its own, or that of the last rollback
	attempts    int           // replacements in a row that have not come to live
	itself      bool          // the last one ended by itself: another would do the same
	refused     string        // why no process could be had for it, "" if one was
	tries       int           // in a row that came to nothing like that
	after       time.Duration // before which it is not tried again
	hopeless    bool          // nothing was changed by all of them, so a lost rank does not wait for another one
	safe        bool          // has reached a safe point
	unheard     bool          // lives, and what it has told the lost head is not all repeated yet
	hash        uint64        // of its registered state in the last cut, 0: it was not taken
	sure        uint64        // the safe point by which nobody of its rank was defective yet, as it said last

	// A joiner.
	spare  bool                 // one was counted out for it; if it was dismissed it may come back (Returned)
	linked map[job.Process]bool // who has its end of the link to it
	links  map[job.Process]bool // to whom it has its own end
	donor  job.Process
	asked  bool  // the donor was told to copy ahead
	copied bool  // and has done so
	moving bool  // in the cut: the donor was told to give it all
	joined bool  // in the cut: it has all
	bytes  int64 // of its state

	// In a cut or a rollback.
	counted, drained, admitted, ready bool
}

// ActionKind says what is to be done.
type ActionKind uint8

// The actions.
const (
	Send    ActionKind = iota // give Order to process To
	Start                     // get a process for the place of To, as this Incarnation: a spare if there is one
	Connect                   // make links between the joiner To and all Peers, which answer Linked
	Dismiss                   // the joiner To is not needed any more
	Lose                      // give up: Loss says why
	Publish                   // make the Set of Files complete and call Published
	Abandon                   // the Set will not be complete, Why says why
	Later                     // call Again after Pause
	Keep                      // keep Decision where another head finds it; what follows, and all events, have to wait for that
)

// Action is one thing to be done.
type Action struct {
	Kind        ActionKind
	To          job.Process
	Incarnation uint32
	Order       job.Order
	Peers       []job.Process
	Why         string
	Pause       time.Duration
	Set         uint64
	Cut         uint64
	Files       []checkpoint.File
	Loss        *Loss

	Decision *Decision
}

// NewHead returns the decisions for a job whose processes all start together.
func NewHead(c Config) *Head {
	h := &Head{config: c, of: make(map[job.Process]*replica), through: make(map[int]bool), incarnations: 1, spares: c.Spares}
	if h.config.Host == nil {
		h.config.Host = func(job.Process) string { return "" }
	}
	for _, p := range job.Processes(c.Degrees) {
		s := &replica{process: p, status: live, incarnation: 1, frames: 1, safe: c.From > 0}
		s.to(Running)
		h.replicas, h.of[p] = append(h.replicas, s), s
	}
	if c.From > 0 {
		h.rate.left(c.From, 0)
	}
	h.backupAt = c.First()
	h.entire = c.Suspect && h.backupAt > 0
	if c.Files.Every > 0 {
		h.filesAt, h.set = c.From+c.Files.Every, c.Files.First
	}
	h.next = earlier(h.backupAt, h.filesAt)
	return h
}

// First returns the cut of the first backup, 0 if there are none.
func (c Config) First() uint64 {
	first := c.Backup.first(len(c.Degrees))
	switch {
	case first == 0:
		return 0
	case c.Suspect:
		first = 1
	}
	return c.compared(c.From + first)
}

// Next is the first planned cut, for the processes' setup.
func (h *Head) Next() uint64 { return h.next }

// earlier returns the lower of two cuts, of which 0 is none.
func earlier(a, b uint64) uint64 {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Generation counts the rollbacks so far.
func (h *Head) Generation() uint32 { return h.generation }

// State returns the state of the process in a replica, Abort if nobody is in it.
func (h *Head) State(p job.Process) State {
	if s := h.of[p]; s.status != empty {
		return s.state
	}
	return Abort
}

// Failed returns the ranks that have no live process, and are needed.
func (h *Head) Failed() []int {
	var ranks []int
	for rank := range h.config.Degrees {
		if h.failed(rank) {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

func (h *Head) failed(rank int) bool { return h.alive(rank) == 0 && !h.through[rank] }

func (s *replica) alive() bool { return s.status >= live }

func (h *Head) alive(rank int) int {
	n := 0
	for _, s := range h.replicas {
		if s.process.Rank == rank && s.alive() {
			n++
		}
	}
	return n
}

// lowest returns the lowest live replica of a rank, or nil.
func (h *Head) lowest(rank int) *replica {
	for _, s := range h.replicas {
		if s.process.Rank == rank && s.alive() {
			return s
		}
	}
	return nil
}

// each yields the replicas that have a process of at least this status.
func (h *Head) each(least status) func(yield func(*replica) bool) {
	return func(yield func(*replica) bool) {
		for _, s := range h.replicas {
			if s.status >= least && !yield(s) {
				return
			}
		}
	}
}

func (h *Head) begin(now time.Duration) {
	h.acts = nil
	h.now = max(h.now, now)
}

func (h *Head) send(to *replica, o job.Order) {
	o.Generation = h.generation
	h.acts = append(h.acts, Action{Kind: Send, To: to.process, Incarnation: to.incarnation, Order: o})
}

func (h *Head) tell(least status, o job.Order) {
	for s := range h.each(least) {
		h.send(s, o)
	}
}

// Arrived says that the process asked for is there and waits for its state.
func (h *Head) Arrived(p job.Process, incarnation uint32, now time.Duration) []Action {
	h.begin(now)
	s := h.of[p]
	if s.status != starting || s.incarnation != incarnation {
		return nil
	}
	s.status = arrived
	var peers []job.Process
	for q := range h.each(arrived) {
		if q != s {
			peers = append(peers, q.process)
		}
	}
	h.acts = append(h.acts, Action{Kind: Connect, To: p, Incarnation: incarnation, Peers: peers})
	return h.advance()
}

// SpareReady says that one more process waits without a rank, SpareGone that
// one has died.
func (h *Head) SpareReady(now time.Duration) []Action {
	h.begin(now)
	h.spares++
	return h.advance()
}

// SpareGone says that a process without a rank has died.
func (h *Head) SpareGone(now time.Duration) []Action {
	h.begin(now)
	h.spares = max(0, h.spares-1) // one that had died may have been asked for, and refused
	return h.advance()
}

// Died says that a process was declared dead. itself: it ended without being
// killed, so another one in its place would do the same.
func (h *Head) Died(p job.Process, incarnation uint32, itself bool, now time.Duration) []Action {
	acts := h.DiedWith(p, incarnation, itself, now)
	return append(acts, h.Conclude(now)...)
}

// DiedWith is Died of one of several processes that died together, with their host.
// Conclude follows the last one, so that no spare is given to a rank that has lost
// one replica when another has lost its last.
func (h *Head) DiedWith(p job.Process, incarnation uint32, itself bool, now time.Duration) []Action {
	h.begin(now)
	s := h.of[p]
	if s.status == empty || s.incarnation != incarnation || h.over {
		return nil
	}
	alive := s.alive()
	if alive {
		h.failures.failed(h.now)
	}
	*s = replica{process: s.process, incarnation: s.incarnation, attempts: s.attempts, itself: itself && alive}
	if alive && h.failed(p.Rank) { // it is urgent now
		for _, q := range h.replicas {
			if q.process.Rank == p.Rank {
				q.tries, q.after, q.hopeless = 0, 0, false
			}
		}
	}
	for q := range h.each(starting) {
		if q.linked != nil {
			delete(q.linked, p)
			delete(q.links, p)
		}
		if q.status == arrived && q.donor == p { // the next donor begins anew
			q.donor, q.asked, q.copied, q.moving = job.Process{}, false, false, false
		}
	}
	h.backupDeath(p, incarnation, alive)
	h.writerDeath(p, incarnation)
	h.failure(alive)
	return h.acts
}

// Conclude says that all are known that died together.
func (h *Head) Conclude(now time.Duration) []Action {
	h.begin(now)
	return h.advance()
}

// Finished says that the program has returned in a process.
func (h *Head) Finished(p job.Process, incarnation uint32, now time.Duration) []Action {
	h.begin(now)
	s := h.of[p]
	if s.status != live || s.incarnation != incarnation || s.state != Running {
		return nil
	}
	s.status = finished
	s.to(Finish)
	if !h.rest {
		h.cease()
	}
	return h.advance()
}

// Through says that nobody lacks anything that a process has sent, in which the
// program has returned.
func (h *Head) Through(p job.Process, incarnation uint32, now time.Duration) []Action {
	h.begin(now)
	if s := h.of[p]; s.status == finished && s.incarnation == incarnation && h.back.phase == none {
		h.through[p.Rank] = true
	}
	return h.advance()
}

// cease: there is no cut any more, since a rank will not come to another one.
func (h *Head) cease() {
	h.rest, h.cut, h.next = true, cut{}, 0
	h.tell(live, job.Order{Kind: job.OrderCancel})
}

// Over says that the job has ended, so nothing is to be done any more.
func (h *Head) Over() { h.over = true }

// Reply takes in what a process says.
func (h *Head) Reply(p job.Process, incarnation uint32, r job.Reply, now time.Duration) []Action {
	h.begin(now)
	s := h.of[p]
	if s == nil || s.status < starting || s.incarnation != incarnation || h.over {
		return nil
	}
	switch r.Kind { // these hold in every generation
	case job.ReplyLinked:
		h.linked(s, r)
		return h.advance()
	case job.ReplySaved:
		h.saved(s, r)
		return h.advance()
	case job.ReplyStored:
		h.stored(s, r)
		return h.advance()
	case job.ReplyReady:
		h.isBack(s, r)
		return h.advance()
	}
	if r.Generation != h.generation {
		return nil // from before a rollback
	}
	switch r.Kind {
	case job.ReplyCount, job.ReplyDrained, job.ReplyJoined, job.ReplyAdmitted:
		if h.back.phase != none {
			return nil // the cut is void
		}
	}
	switch r.Kind {
	case job.ReplyFirst:
		s.safe = true
		h.rate.first(h.now)
	case job.ReplyCopied:
		if q := h.of[r.Process]; q != nil && q.status == arrived && q.donor == p {
			q.copied = true
		}
	case job.ReplyCount:
		if r.Round == h.round {
			h.counted(s, r.Number)
		}
	case job.ReplyDrained:
		s.sure, s.hash = r.Sure, r.State
		h.drained(s, r.Number)
	case job.ReplyJoined:
		if s.joined = s.status == arrived && r.Number == h.cut.number && h.cut.phase == draining; s.joined {
			s.bytes = r.Bytes
		}
	case job.ReplyAdmitted:
		s.admitted = r.Number == h.cut.number
	}
	return h.advance()
}

// linked: process s has its end of the link to another one.
func (h *Head) linked(s *replica, r job.Reply) {
	q := h.of[r.Process]
	if q == nil || q.incarnation != r.Incarnation {
		return
	}
	if q.linked != nil {
		q.linked[s.process] = true
	}
	if s.links != nil {
		s.links[q.process] = true
	}
}

// Repeated says that all was told again that a process had told the head whose
// place this one has taken.
func (h *Head) Repeated(p job.Process, incarnation uint32, now time.Duration) []Action {
	h.begin(now)
	s := h.of[p]
	if s == nil || s.incarnation != incarnation || h.over {
		return nil
	}
	s.unheard = false
	return h.advance()
}

// keep has a decision kept. What follows waits for that.
func (h *Head) keep(d Decision) {
	d.Generation = h.generation
	h.acts = append(h.acts, Action{Kind: Keep, Decision: &d})
}

// advance does all that is due.
func (h *Head) advance() []Action {
	if h.over {
		return h.acts
	}
	h.refill()
	h.recover()
	if len(h.Failed()) == 0 && h.back.phase == none {
		h.donate()
		h.plan()
		h.progress()
		h.storing()
	}
	return h.acts
}

// lose gives the job up.
func (h *Head) lose(l *Loss) {
	for s := range h.each(starting) {
		s.to(Abort)
	}
	h.over = true
	h.acts = append(h.acts, Action{Kind: Lose, To: job.Process{Rank: l.Rank}, Loss: l})
}

// String shows where everybody is, for logs and tests.
func (h *Head) String() string {
	out := fmt.Sprintf("generation %d cut %+v next %d rest %v back %v:", h.generation, h.cut, h.next, h.rest, h.back)
	for _, s := range h.replicas {
		out += fmt.Sprintf(" [%v#%d status %d %v drained %v joined %v admitted %v ready %v linked %d]",
			s.process, s.incarnation, s.status, s.state, s.drained, s.joined, s.admitted, s.ready, len(s.linked))
	}
	return out
}
