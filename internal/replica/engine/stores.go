package engine

import (
	"fmt"
	"iter"
	"runtime"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/base/arena"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/direct"
	"github.com/intrahpc/intra/internal/replica/ntcopy"
	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/internal/timeline"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// stores is the exchange that writes results straight into the arrays of the other
// replicas, which are on the same host. It can complete sections whose tasks write only
// such arrays, as long as all live replicas share the memory.
type stores struct {
	*sharing
	arena  *arena.Arena
	claims *direct.ClaimTable
	areas  []*arena.Area // by replica; nil: unknown, or no area
	ended  []bool        // by replica: the process of the known area has ended

	// These fields belong to the section that is prepared or open.
	places    []uint64 // positions in the area of the memory that its tasks write
	hints     [8]int   // positions of earlier regions with the same index, modulo 8
	runsAlong bool     // elementwise tasks store their results while they run
	large     int      // least size of the updates of a section in which they do so, in bytes
	part      int      // bytes of results that a task computes before it stores them

	any bool   // some result was stored
	why string // why a section could not be completed by stores; "" if all could

	stuck struct { // stuck is the section of a peer for which this replica has waited in vain.
		at uint64
		ok bool
	}
}

// copying names a task whose results are copied to a peer.
type copying struct{ task, peer int }

func (d *stores) enter(s *Section, signature uint64) error {
	own := d.areas[d.setup.Self.Replica]
	for k, at := range d.places {
		own.Place(k).Store(at)
	}
	at := direct.Section{Number: s.Number, Tasks: len(s.Tasks), Signature: signature + uint64(len(s.Tasks))}
	if s.verifier != nil {
		at.Own = s.verifier.tasks
	}
	d.claims.Enter(at)
	return d.pass(s, signature)
}

// next returns the next step of w in s. w itself copies the results of tasks that it has
// run.
func (d *stores) next(w *worker, s *Section) (step, error) {
	if n := len(w.given); n > 0 {
		c := w.given[n-1]
		w.given = w.given[:n-1]
		return d.give(w, s, c.task, c.peer), nil
	}
	next, err := d.claims.Next()
	if err == nil && next.Kind == direct.Run {
		err = d.claimBatch(w, s, next.Task)
	}
	for _, p := range d.claims.Freed() {
		d.wake(w, s, p)
	}
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
	case direct.Resume:
		return d.resume(w, s, next.Task, next.Peer, next.From), nil
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

func (d *stores) first(*Task) bool { return false }

func (d *stores) binding() bool { return true }

// ran orders copies of the results to all peers that are in s and lack them.
func (d *stores) ran(w *worker, s *Section, task int) {
	w.peers = d.claims.Ran(task, w.peers[:0])
	for _, p := range w.peers {
		if w.ranAlong(p) {
			d.gave(w, s, task, p)
		} else {
			w.given = append(w.given, copying{task, p})
		}
	}
}

// give returns the step that copies the results of a task to a peer and informs it.
func (d *stores) give(w *worker, s *Section, task, peer int) step {
	return step{kind: moveResults,
		move:  func() { d.copyTo(s, task, peer) },
		moved: func() { d.gave(w, s, task, peer) }}
}

// gave informs a peer that it has the results of a task.
func (d *stores) gave(w *worker, s *Section, task, peer int) {
	known := s.Tasks[task].known
	d.claims.Gave(task, peer)
	d.stats.sent(known, s.Tasks[task].bytes)
	known.Stored++
	d.any = true
	d.traceUpdate(timeline.Sent, s, task, peer)
	d.wake(w, s, peer)
}

// wake makes w send a frame to a peer, which may sleep while it waits for s. One frame is
// enough for everything that has changed before it is sent.
func (d *stores) wake(w *worker, s *Section, peer int) {
	link := d.peers[peer]
	if link == nil || slices.ContainsFunc(w.out, func(o outgoing) bool { return o.link == link }) {
		return
	}
	w.out = append(w.out, outgoing{link: link, frame: d.outFrame(w.entry(s))})
}

// take returns the step that copies the results of a task from the arrays of a dead peer.
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
				runtime.Goexit() // only in a job that runs in one process
			}
			to, from, mid = to[half:], from[half:], nil
		}
		move(to, from)
	}
}

// copyFrom copies the results of a task from the arrays of a dead peer.
func (d *stores) copyFrom(s *Section, task, peer int) {
	for g, theirs := range d.results(s, task, peer) {
		move(g.Mem, theirs)
	}
}

// written returns the regions that a task writes.
func written(t *Task) iter.Seq[*update.Region] {
	return func(yield func(*update.Region) bool) {
		for i := range t.Regions {
			if g := &t.Regions[i]; g.Mode.Written() && len(g.Mem) > 0 && !yield(g) {
				return
			}
		}
	}
}

// results returns the regions that a task writes, each with its counterpart in the arrays
// of a peer. The peer has published the positions of its arrays when it entered s.
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

// move copies memory that does not overlap.
func move(to, from []byte) {
	if len(to) >= ntcopy.From {
		ntcopy.Copy(to, from)
		return
	}
	copy(to, from)
}

// leastPatience is the least time that a peer must stay at one section before this replica
// stops waiting for it.
const leastPatience = time.Millisecond

// meet waits for peers that are behind. Nothing can be stored into their arrays before
// they enter s, and a replica that continues without them shares no more work with them.
// meet waits while they make progress, but for each step no longer than they would need
// for all of s. With ownersOnly it waits until they have entered or are dead.
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
		if d.stuck.ok && d.stuck.at == at && !d.ownersOnly() {
			return nil
		}
		if !first && at > last {
			until = d.now() + patience
		}
		last = at
		if d.now() >= until && d.ownersOnly() {
			until = d.now() + patience
		}
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

// missing returns 0, because the claims do not show which task is missing.
func (d *stores) missing() int { return 0 }

func (d *stores) leave(s *Section) {
	for task := range d.claims.Received {
		d.stats.received(s.Tasks[task].known, 1)
	}
}

func (d *stores) describe() string { return d.claims.Describe() }
