package engine

import (
	"fmt"
	"iter"
	"runtime"
	"time"

	"github.com/intrahpc/intra/internal/arena"
	"github.com/intrahpc/intra/internal/direct"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/ntcopy"
	"github.com/intrahpc/intra/internal/section"
	"github.com/intrahpc/intra/internal/timeline"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// stores is the exchange straight into the arrays of the other replicas, which
// are on the same host. Sections whose tasks write nothing but such arrays can be
// completed that way, as long as all replicas that live share the memory.
type stores struct {
	*sharing
	arena  *arena.Arena
	claims *direct.ClaimTable
	areas  []*arena.Area // by replica; nil: not known, or there is none
	ended  []bool        // by replica: the life is over whose area is known

	// Of the section that is prepared or open.
	places      []uint64 // where the memory lies that its tasks write
	hints       [8]int   // where memory like that lay before, by the number of the region
	nonTemporal bool     // results are copied past the caches

	any bool   // something has been stored
	why string // a section could not be completed by stores; "" if all could

	stuck struct { // where a peer was for which this replica has waited in vain
		at uint64
		ok bool
	}
}

// copying is the copying of the results of a task to a peer.
type copying struct{ task, peer int }

// areaWords are the words of the areas as the protocol uses them. Nobody has
// claimed anything from a replica whose area is not known.
type areaWords struct{ *stores }

func (w areaWords) Load(r, k int) uint64 {
	if w.areas[r] == nil {
		return 0
	}
	return w.areas[r].Word(k).Load()
}

func (w areaWords) Store(r, k int, v uint64) { w.areas[r].Word(k).Store(v) }

func (w areaWords) CompareAndSwap(r, k int, old, new uint64) bool {
	return w.areas[r] != nil && w.areas[r].Word(k).CompareAndSwap(old, new)
}

// agreedWords are those that all replicas have in common.
type agreedWords struct{ *arena.Arena }

func (w agreedWords) Load(k int) uint64 { return w.Agreed(k).Load() }

func (w agreedWords) CompareAndSwap(k int, old, new uint64) bool {
	return w.Agreed(k).CompareAndSwap(old, new)
}

var ( // there are enough
	_ [arena.Words - direct.NumWords]struct{}
	_ [arena.Agreements - direct.NumAgreements]struct{}
)

// Life is this replica in the incarnation in which the program begins.
func (h *sharing) Life() arena.Life {
	h.mu.Lock()
	defer h.mu.Unlock()
	return arena.Life{Replica: h.setup.Self.Replica, Incarnation: h.setup.Incarnation}
}

// StoreInto lets the replicas of this rank store into what each of them
// allocates in a.
func (h *sharing) StoreInto(a *arena.Arena) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stores = &stores{sharing: h, arena: a}
	h.stores.begin()
}

// CannotStore says why the replicas do not share memory, to a user who has asked
// for that.
func (h *sharing) CannotStore(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notes.add("results are sent, not stored: %v", err)
}

// Stores reports whether there is such memory.
func (h *sharing) Stores() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stores != nil
}

// alloc returns memory that the replicas share, nil if there is none.
func (h *sharing) alloc(size int) []byte {
	h.mu.Lock()
	d := h.stores
	h.mu.Unlock()
	if d == nil {
		return nil
	}
	return d.arena.Alloc(size)
}

// begin begins a life of this replica: the program makes arrays anew, and so do
// those of the peers. Areas of lives that have ended are kept until their
// successors come, since others may not have ended theirs yet.
func (d *stores) begin() {
	n := len(d.peers)
	if d.areas == nil {
		d.areas, d.ended = make([]*arena.Area, n), make([]bool, n)
	}
	self := d.setup.Self.Replica
	d.areas[self] = nil
	d.arena.Begin(d.setup.Incarnation)
	d.claims = direct.New(areaWords{d}, self, n, func(replica int) bool { return d.machine.Live(replica) })
}

// died: a replica is dead. What it has made may yet be taken from its area.
func (d *stores) died(replica int) { d.ended[replica] = true }

// admit: another process has taken the place of a replica, at a cut, where
// nobody is in a section.
func (d *stores) admit(replica int) { d.drop(replica) }

// drop gives up the area of a peer, and its memory if the peer is dead.
func (d *stores) drop(replica int) {
	area := d.areas[replica]
	if area == nil {
		return
	}
	if d.ended[replica] {
		if err := area.Clear(); err != nil {
			d.notes.add("%v", err)
		}
	}
	area.Close()
	d.areas[replica], d.ended[replica] = nil, false
}

// begun reports whether the program has made arrays that others can store into.
func (d *stores) begun() bool {
	self := d.setup.Self.Replica
	if d.areas[self] == nil {
		d.areas[self] = d.arena.Own()
	}
	return d.areas[self] != nil
}

// agree decides with the other replicas how s is completed.
func (d *stores) agree(s *Section, c candidates, bytes int) direct.Way {
	known := s.decision
	if known.stored > 0 && !known.elsewhere {
		for r, link := range d.peers {
			if link != nil && d.claims.Refused(r, known.stored-1) {
				d.differ(s)
			}
		}
	}
	able := d.met(s)
	lies := able && !known.elsewhere && d.prepare(s, bytes)
	c.store, c.send = lies, !lies || !d.setup.Direct
	mine := known.propose(c)
	if mine == direct.Send && able && !lies {
		mine = direct.SendOnly
	}
	way := direct.Agree(agreedWords{d.arena}, direct.Moment{Generation: d.generation, Section: s.Number}, mine)
	switch {
	case way == direct.Store && lies:
		known.stored = s.Number + 1
	case way == direct.Store:
		d.claims.Refuse(s.Number)
		if able {
			d.differ(s)
		}
		return direct.Send
	case way == direct.SendOnly:
		if lies {
			d.differ(s)
		}
		return direct.Send
	}
	return way
}

// differ notes that what the tasks of s write can be stored into on some
// replicas only. All say the same about it.
func (d *stores) differ(s *Section) {
	s.decision.elsewhere = true
	d.notes.add("%s: results of %s are sent, not stored: only on some replicas are the arrays that it writes made by intra.Alloc",
		&s.At, s.Tasks[0].Kernel.Name)
}

// met reports whether all other replicas share memory with this one, and there
// are some. If not there is no use in stores.
func (d *stores) met(s *Section) bool {
	switch {
	case len(s.Tasks) == 0:
		return false
	case len(s.Tasks) > direct.MaxTasks:
		return d.unable("%s: this section has more than %d tasks", &s.At, direct.MaxTasks)
	}
	others := false
	for r, link := range d.peers {
		if link == nil {
			continue
		}
		life := arena.Life{Replica: r, Incarnation: d.incarnations[job.Process{Rank: d.setup.Self.Rank, Replica: r}]}
		if old := d.areas[r]; old == nil || old.Life != life {
			area := d.arena.Find(life)
			if area == nil {
				return d.unable("a replica shares no memory with the others")
			}
			d.drop(r)
			d.areas[r], d.ended[r] = area, false
		}
		others = true
	}
	return others
}

// prepare looks up where the memory lies that the tasks of s write, and reports
// whether others can store into it. The results are so many bytes.
func (d *stores) prepare(s *Section, bytes int) bool {
	d.places, d.nonTemporal = d.places[:0], bytes >= ntcopy.From
	own := d.areas[d.setup.Self.Replica]
	for i := range s.Tasks {
		s.Tasks[i].place = len(d.places)
		for g := range written(&s.Tasks[i]) {
			at, ok := d.arena.Place(own, g.Mem, &d.hints[(len(d.places)-s.Tasks[i].place)%len(d.hints)])
			if !ok {
				return d.unable("%s: %v(%s) of %s is not part of an array that intra.Alloc has made", &s.At, g.Mode, g.Name, s.Tasks[i].Kernel.Name)
			}
			d.places = append(d.places, uint64(at))
		}
	}
	if len(d.places) > arena.Places {
		return d.unable("%s: the tasks of this section write more than %d arrays", &s.At, arena.Places)
	}
	return true
}

// written are the regions that a task writes.
func written(t *Task) iter.Seq[*update.Region] {
	return func(yield func(*update.Region) bool) {
		for i := range t.Regions {
			if g := &t.Regions[i]; g.Mode.Written() && len(g.Mem) > 0 && !yield(g) {
				return
			}
		}
	}
}

// unable notes why a section is not completed by stores, if it is the first one.
func (d *stores) unable(format string, args ...any) bool {
	if !d.any && d.why == "" {
		d.why = fmt.Sprintf(format, args...)
	}
	return false
}

// returned takes in that the program has returned: who has asked for stores
// wants to know why there were none.
func (d *stores) returned() {
	switch {
	case !d.setup.Direct || d.any || d.stats.total.Sections == 0:
	case d.why != "":
		d.notes.add("-direct has stored nothing: %s", d.why)
	default:
		d.notes.add("-direct has stored nothing: there was no section with the adaptive schedule that it paid to share, or all replicas but one were gone")
	}
}

func (d *stores) enter(s *Section, signature uint64) error {
	own := d.areas[d.setup.Self.Replica]
	for k, at := range d.places {
		own.Place(k).Store(at)
	}
	d.claims.Enter(direct.Section{Number: s.Number, Tasks: len(s.Tasks), Signature: signature + uint64(len(s.Tasks))})
	return d.pass(s, signature)
}

// next finds what w does next in s. What is to be copied w copies itself.
func (d *stores) next(w *worker, s *Section) (step, error) {
	if n := len(w.given); n > 0 {
		c := w.given[n-1]
		w.given = w.given[:n-1]
		return d.give(w, s, c.task, c.peer), nil
	}
	next, err := d.claims.Next()
	if err != nil {
		return step{}, d.mismatch(s, err.(*direct.Mismatch))
	}
	switch next.Kind {
	case direct.Run:
		return step{kind: runTask, task: next.Task}, nil
	case direct.Give:
		return d.give(w, s, next.Task, next.Peer), nil
	case direct.Take:
		return d.take(s, next.Task, next.Peer), nil
	case direct.Wait:
		return step{kind: waitForPeer}, nil
	}
	return step{kind: allHere}, nil
}

func (d *stores) mismatch(s *Section, m *direct.Mismatch) error {
	return &section.Divergence{Section: s.Number, Task: -1, Replica: d.setup.Self.Replica, Peer: m.Peer,
		Mine:   fmt.Sprintf("the tasks, shapes and small arguments have signature %016x", m.Mine),
		Theirs: fmt.Sprintf("%016x", m.Theirs)}
}

// reserve: results are stored when they are complete.
func (d *stores) reserve(*worker, *Section, *Task) func([]byte) { return nil }

func (d *stores) first(*Task) bool { return false }

// ran has the results copied to all that are in s.
func (d *stores) ran(w *worker, _ *Section, task int) {
	w.peers = d.claims.Ran(task, w.peers[:0])
	for _, p := range w.peers {
		w.given = append(w.given, copying{task, p})
	}
}

// give copies the results of a task to a peer, and lets it know.
func (d *stores) give(w *worker, s *Section, task, peer int) step {
	return step{kind: moveResults,
		move: func() { d.copyTo(s, task, peer) },
		moved: func() {
			known := s.Tasks[task].known
			d.claims.Gave(task, peer)
			d.stats.sent(known, s.Tasks[task].bytes)
			known.Stored++
			d.any = true
			d.traceUpdate(timeline.Sent, s, task, peer)
			if link := d.peers[peer]; link != nil { // it may sleep
				w.out = append(w.out, outgoing{link: link, frame: d.outFrame(w.entry(s))})
			}
		}}
}

// take copies the results of a task out of the arrays of a dead peer.
func (d *stores) take(s *Section, task, peer int) step {
	return step{kind: moveResults,
		move: func() { d.copyFrom(s, task, peer) },
		moved: func() {
			d.claims.Took(task)
			d.stats.received(s.Tasks[task].known, 1)
		}}
}

// copyTo copies the results of a task into the arrays of a peer.
func (d *stores) copyTo(s *Section, task, peer int) {
	mid := d.faults.Mid(job.KillUpdate)
	for g, theirs := range d.results(s, task, peer) {
		to, from := theirs, g.Mem
		if mid != nil {
			half := copy(to[:len(to)/2], from)
			if !mid() {
				runtime.Goexit() // in a job that runs in one process
			}
			to, from, mid = to[half:], from[half:], nil
		}
		move(to, from, d.nonTemporal)
	}
}

// copyFrom copies the results of a task out of the arrays of a dead peer.
func (d *stores) copyFrom(s *Section, task, peer int) {
	for g, theirs := range d.results(s, task, peer) {
		move(g.Mem, theirs, d.nonTemporal)
	}
}

// results are the regions that a task writes, each with where it lies in the
// arrays of a peer that is in s, as that has said.
func (d *stores) results(s *Section, task, peer int) iter.Seq2[*update.Region, []byte] {
	return func(yield func(*update.Region, []byte) bool) {
		k, area := s.Tasks[task].place, d.areas[peer]
		for g := range written(&s.Tasks[task]) {
			if !yield(g, area.At(int(area.Place(k).Load()), len(g.Mem))) {
				return
			}
			k++
		}
	}
}

// move copies memory that does not overlap, past the caches if that is asked
// for.
func move(to, from []byte, nonTemporal bool) {
	if nonTemporal {
		ntcopy.Copy(to, from)
		return
	}
	copy(to, from)
}

// leastPatience is how long a peer may be at the same section at least before
// nobody waits for it.
const leastPatience = time.Millisecond

// meet waits for peers that are behind, since nothing can be stored into their
// arrays before they come, and who goes on without them shares no work from
// then on. It waits as long as they get on: no longer at a time than they would
// need for all of s.
func (d *stores) meet(s *Section, yield func(func())) error {
	patience := leastPatience
	if s.decision.alone.n > 0 {
		patience = max(patience, 2*s.decision.alone.median(samples))
	}
	until, last := d.now()+patience, uint64(0)
	for first := true; d.err == nil; first = false {
		seen := d.changes.Load()
		at, behind := d.machine.Behind(s.Number)
		if !behind {
			d.stuck.ok = false
			return nil
		}
		if d.stuck.ok && d.stuck.at == at {
			return nil
		}
		if !first && at > last {
			until = d.now() + patience
		}
		last = at
		if d.now() >= until {
			d.stuck.at, d.stuck.ok = at, true
			return nil
		}
		var err error
		yield(func() { err = d.awaitChange(seen, until) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *stores) adopted(s *Section, task int) bool {
	return !d.machine.Live(sched.Owner(len(s.Tasks), len(d.sharing.peers), task))
}

// missing: the claims tells no task from another.
func (d *stores) missing() int { return 0 }

func (d *stores) leave(s *Section) { d.stats.received(s.Tasks[0].known, d.claims.Received()) }

func (d *stores) describe() string { return d.claims.Describe() }

// storesEnded ends stores into the arrays here, for a program that begins anew
// with others. It reports whether nobody stores into them any more; until then it
// is called again.
func (h *sharing) storesEnded() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.stores == nil || h.stores.claims.Close()
}
