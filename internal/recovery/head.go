package recovery

import (
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// Config holds the recovery settings of a job.
type Config struct {
	Degrees []int
	Vacant  []job.Process // slots without a process at the start
	// Targets says how many replicas each rank is to have now; nil: as many as Degrees. It may
	// be less than Degrees, and Degree changes it.
	Targets []int
	Start   bool   // new processes may be started for lost ones
	Spares  int    // processes that wait without a rank
	Backup  Policy // when backups are taken
	// Compared limits backups to safe points with a multiple of this number, at which
	// replicas compare their states. 0 allows every safe point.
	Compared uint64
	// Suspect means that replicas compare only a share of the tasks. So a faulty process may
	// compute wrong results for a while before it is found (Distrust). The job keeps older
	// backups for that. The first backup is taken at the first safe point; replicas compare
	// all tasks until it is complete.
	Suspect bool
	Files   Files
	// From is the safe point at which all processes begin in a job that is restarted from
	// files. 0 means that the program begins at its start.
	From uint64
	// Host returns the name of a process's host. It serves to hold a backup on another host
	// than its rank. If it is nil, all processes count as being on one host.
	Host func(job.Process) string
	// Leaver orders two replicas of a rank: the lower one leaves first if the rank has too many.
	// Needier orders two ranks that have equally many replicas: the lower one gets another
	// replica first. nil: by their numbers.
	Leaver  func(p, q job.Process) int
	Needier func(a, b int) int
	// Dying reports whether a live process has died or was killed, which is not decided yet. It
	// does not count as a replica that stays. nil: no process is.
	Dying func(job.Process) bool
}

// Head decides how the job reacts to failures. Its events are methods; each returns the
// actions to take, in order. Head does not decide which processes are dead.
//
// A successor needs to know everything that a Head has acted on. So the driver keeps a
// Decision (action Keep) before it takes the actions that follow. It also keeps each start,
// death and end of a process before it calls Arrived, Died, Finished or Through. Snapshot
// is folded from these records.
type Head struct {
	*desk
	*replicas
	*pace
	*backups
	*sets

	incarnations uint32 // the highest incarnation given to a process or a rollback
	rest         bool   // a rank has finished: no cut is possible before a rollback
	cut          cut
	round        uint64 // counts the requests for positions (OrderAsk)
	next         uint64 // the planned cut, 0 if there is none
	backupAt     uint64 // the next cut for a backup, 0 if there is none
	filesAt      uint64 // the next cut for files, 0 if there is none
	back         rollback
}

// NewHead returns the Head of a job whose processes all start together.
func NewHead(c Config) *Head {
	if c.Host == nil {
		c.Host = func(job.Process) string { return "" }
	}
	k := &desk{config: c}
	rs := &replicas{desk: k, of: make(map[job.Process]*replica), through: make(map[int]bool), spares: c.Spares, targets: c.targetsOf()}
	pc := &pace{desk: k, replicas: rs}
	h := &Head{desk: k, replicas: rs, pace: pc, backups: &backups{desk: k, replicas: rs, pace: pc}, sets: &sets{desk: k, replicas: rs}, incarnations: 1}
	for _, p := range job.Processes(c.Degrees) {
		s := &replica{process: p, incarnation: 1}
		if !slices.Contains(c.Vacant, p) {
			s.status, s.frames, s.safe = live, 1, c.From > 0
			s.to(Running)
		}
		h.replicas.slots, h.replicas.of[p] = append(h.replicas.slots, s), s
	}
	if c.From > 0 {
		h.pace.rate.left(c.From, 0)
	}
	h.backupAt = c.First()
	h.backups.entire = c.Suspect && h.backupAt > 0
	if c.Files.Every > 0 {
		h.filesAt, h.sets.set = c.From+c.Files.Every, c.Files.First
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

// Next returns the next planned cut, 0 if there is none. The driver includes it in the
// setup of a process.
func (h *Head) Next() uint64 { return h.next }

// earlier returns the lower of two cuts, where 0 stands for no cut.
func earlier(a, b uint64) uint64 {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Generation returns the number of rollbacks so far.
func (h *Head) Generation() uint32 { return h.generation }

// State returns the state of the process in a slot, Abort if the slot is empty.
func (h *Head) State(p job.Process) State {
	if s := h.replicas.of[p]; s.status != empty {
		return s.state
	}
	return Abort
}

// Arrived reports that a requested process is linked to the head and waits for its state.
func (h *Head) Arrived(p job.Process, incarnation uint32, now time.Duration) []Action {
	h.begin(now)
	s := h.replicas.find(p, incarnation)
	if s == nil || s.status != starting {
		return nil
	}
	s.status = arrived
	var peers []job.Endpoint
	for q := range h.replicas.present() {
		if q != s {
			peers = append(peers, q.endpoint())
		}
	}
	h.acts = append(h.acts, Action{Kind: Connect, To: p, Incarnation: incarnation, Peers: peers})
	return h.advance()
}

// SpareReady reports one more process that waits without a rank.
func (h *Head) SpareReady(now time.Duration) []Action {
	h.begin(now)
	h.replicas.spares++
	return h.advance()
}

// SpareGone reports the death of a process without a rank.
func (h *Head) SpareGone(now time.Duration) []Action {
	h.begin(now)
	h.replicas.spares = max(0, h.replicas.spares-1) // a refused request may have counted it already
	return h.advance()
}

// Died reports that a process was declared dead. itself means that it ended without being
// killed, so a replacement would do the same.
func (h *Head) Died(p job.Process, incarnation uint32, itself bool, now time.Duration) []Action {
	acts := h.DiedWith(p, incarnation, itself, now)
	return append(acts, h.Conclude(now)...)
}

// DiedWith is Died for one of several processes that died together, with their host. The
// driver calls Conclude after the last one. The decisions wait for Conclude, so that a
// rank without replicas gets a spare before a rank that still has one.
func (h *Head) DiedWith(p job.Process, incarnation uint32, itself bool, now time.Duration) []Action {
	h.begin(now)
	if h.relieverDied(p, incarnation) {
		return h.acts
	}
	s := h.replicas.of[p]
	if s.status == empty || s.incarnation != incarnation || h.over {
		return nil
	}
	alive := s.alive()
	if alive {
		h.pace.failures.failed(h.now)
	}
	*s = replica{process: s.process, incarnation: s.incarnation, attempts: s.attempts, itself: itself && alive}
	if alive && h.replicas.failed(p.Rank) { // the rank is lost now, so it does not wait for an earlier pause
		for _, q := range h.replicas.slots {
			if q.process.Rank == p.Rank {
				q.tries, q.after, q.hopeless = 0, 0, false
			}
		}
	}
	h.relieved(s)
	for q := range h.replicas.joiners() {
		if q.status == arrived && q.donor == p { // the next donor starts the copy over
			q.donor, q.asked, q.copied, q.moving = job.Process{}, false, false, false
		}
	}
	h.backups.backupDeath(p, incarnation, alive)
	h.sets.writerDeath(p, incarnation)
	h.failure(alive)
	return h.acts
}

// Conclude takes the steps that have become possible. The driver calls it after a series
// of DiedWith, and after the pause of an action Later.
func (h *Head) Conclude(now time.Duration) []Action {
	h.begin(now)
	return h.advance()
}

// Finished reports that the program has returned in a process.
func (h *Head) Finished(p job.Process, incarnation uint32, now time.Duration) []Action {
	h.begin(now)
	s := h.replicas.of[p]
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

// Through reports that every message of a finished process has been received.
func (h *Head) Through(p job.Process, incarnation uint32, now time.Duration) []Action {
	h.begin(now)
	if s := h.replicas.of[p]; s.status == finished && s.incarnation == incarnation && h.back.phase == none {
		h.replicas.through[p.Rank] = true
	}
	return h.advance()
}

// cease cancels all cuts, because a finished rank will not reach another safe point.
func (h *Head) cease() {
	h.rest, h.cut, h.next = true, cut{}, 0
	h.replicas.tell(live, job.Order{Kind: job.OrderCancel})
}

// Last has one more set of files written, at the next safe point.
func (h *Head) Last(now time.Duration) []Action {
	h.begin(now)
	h.sets.last = true
	return h.advance()
}

// Busy reports whether a cut or a rollback is under way.
func (h *Head) Busy() bool { return h.cut.phase != idle || h.back.phase != none }

// Over ends the Head with the job: it takes no more actions.
func (h *Head) Over() { h.over = true }

// Reply processes a reply of a process.
func (h *Head) Reply(p job.Process, incarnation uint32, r job.Reply, now time.Duration) []Action {
	h.begin(now)
	s := h.replicas.find(p, incarnation)
	if s == nil || s.status < starting || h.over {
		return nil
	}
	switch r.Kind { // valid in every generation
	case job.ReplyLinked:
		h.replicas.linked(s, r)
		return h.advance()
	case job.ReplySaved:
		h.sets.saved(s, r)
		return h.advance()
	case job.ReplyStored:
		h.backups.stored(s, r)
		return h.advance()
	case job.ReplyReady:
		h.isBack(s, r)
		return h.advance()
	}
	if r.Generation != h.generation {
		return nil // a reply from before a rollback
	}
	switch r.Kind {
	case job.ReplyCount, job.ReplyDrained, job.ReplyJoined, job.ReplyAdmitted:
		if h.back.phase != none {
			return nil // the reply belongs to a cancelled cut
		}
	}
	switch r.Kind {
	case job.ReplyFirst:
		s.safe = true
		h.pace.rate.first(h.now)
	case job.ReplyCopied:
		for q := range h.replicas.joiners() {
			if q.process == r.Process && q.status == arrived && q.donor == p {
				q.copied = true
			}
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

// Repeated reports that an agent has repeated to this successor all messages that a process
// had sent to the lost head.
func (h *Head) Repeated(p job.Process, incarnation uint32, now time.Duration) []Action {
	h.begin(now)
	s := h.replicas.of[p]
	if s == nil || s.incarnation != incarnation || h.over {
		return nil
	}
	s.repeating = false
	return h.advance()
}

// advance takes every step that has become possible, and returns the actions.
func (h *Head) advance() []Action {
	if h.over {
		return h.acts
	}
	h.trim()
	h.refill()
	h.recover()
	h.relieve()
	if len(h.replicas.Failed()) == 0 && h.back.phase == none {
		h.donate()
		h.plan()
		h.progress()
		h.storing()
	}
	return h.acts
}

// lose ends the job.
func (h *Head) lose(l *Loss) {
	for s := range h.replicas.each(starting) {
		s.to(Abort)
	}
	h.reliefs, h.over = nil, true
	h.acts = append(h.acts, Action{Kind: Lose, To: job.Process{Rank: l.Rank}, Loss: l})
}

// String shows the state of the Head and of all processes, for logs and tests.
func (h *Head) String() string {
	out := fmt.Sprintf("generation %d cut %+v next %d rest %v back %v:", h.generation, h.cut, h.next, h.rest, h.back)
	for _, s := range h.replicas.slots {
		out += fmt.Sprintf(" [%v#%d status %d %v drained %v joined %v admitted %v ready %v linked %d]",
			s.process, s.incarnation, s.status, s.state, s.drained, s.joined, s.admitted, s.ready, len(s.linked))
	}
	return out
}
