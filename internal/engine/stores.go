package engine

import (
	"fmt"
	"runtime"
	"time"

	"github.com/intrahpc/intra/internal/arena"
	"github.com/intrahpc/intra/internal/direct"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/ntcopy"
	"github.com/intrahpc/intra/internal/section"
	"github.com/intrahpc/intra/internal/timeline"
	"github.com/intrahpc/intra/sched"
)

// stores is the exchange straight into the arrays of the other replicas, which
// are on the same host. Sections whose tasks write nothing but such arrays are
// completed that way, all others by updates; a replica that is new has no part
// in the shared memory, and with it in the rank all sections are.
type stores struct {
	*sharing
	arena  *arena.Arena
	claims *direct.ClaimTable
	end    func() // called when no array is to come from the arena any more

	// Of the section that is prepared or open.
	places      uint64 // where the memory lies that its tasks write; all replicas agree on it
	nonTemporal bool   // results are copied past the caches

	any bool   // something has been stored
	why string // a section could not be completed by stores; "" if all could

	stuck struct { // where a peer was for which this replica has waited in vain
		at uint64
		ok bool
	}
}

// copying is the copying of the results of a task to a peer.
type copying struct{ task, peer int }

// arenaWords are the words of an arena as the protocol uses them.
type arenaWords struct{ *arena.Arena }

func (w arenaWords) Load(r, k int) uint64     { return w.Word(r, k).Load() }
func (w arenaWords) Store(r, k int, v uint64) { w.Word(r, k).Store(v) }
func (w arenaWords) CompareAndSwap(r, k int, old, new uint64) bool {
	return w.Word(r, k).CompareAndSwap(old, new)
}

var _ = [arena.Words - direct.NumWords]struct{}{} // there are enough

// StoreInto lets this replica store into what the others allocate in a, until
// end is called.
func (h *sharing) StoreInto(a *arena.Arena, end func()) {
	live := func(replica int) bool { return h.machine.Live(replica) }
	h.stores = &stores{sharing: h, arena: a, end: end,
		claims: direct.New(arenaWords{a}, h.setup.Self.Replica, a.Replicas(), live)}
}

// prepare reports whether s can be completed by stores. Its results are so many
// bytes.
func (d *stores) prepare(s *Section, bytes int) bool {
	switch {
	case len(s.Tasks) == 0:
		return false
	case len(s.Tasks) > direct.MaxTasks:
		return d.unable("%s: this section has more than %d tasks", &s.At, direct.MaxTasks)
	case !d.withAll():
		return d.unable("a replica has been replaced, and new ones have no part in the shared memory")
	}
	d.places, d.nonTemporal = 0, bytes >= ntcopy.From
	for i := range s.Tasks {
		for k := range s.Tasks[i].Regions {
			g := &s.Tasks[i].Regions[k]
			if !g.Mode.Written() || len(g.Mem) == 0 {
				continue
			}
			at, ok := d.arena.Place(g.Mem)
			if !ok {
				return d.unable("%s: %v(%s) of %s is not part of an array that intra.Alloc has made, or of a small one", &s.At, g.Mode, g.Name, s.Tasks[i].Kernel.Name)
			}
			d.places = (d.places+uint64(at))*0x9e3779b97f4a7c15 + uint64(len(g.Mem))
		}
	}
	return true
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
	case d.any || d.stats.total.Sections == 0:
	case d.why != "":
		d.notes.add("-direct has stored nothing: %s", d.why)
	default:
		d.notes.add("-direct has stored nothing: there was no section with the adaptive schedule that it paid to share, or all replicas but one were gone")
	}
}

// withAll reports whether there are other replicas, and all of them have been
// there from the start.
func (d *stores) withAll() bool {
	others := false
	for r, link := range d.peers {
		if link == nil {
			continue
		}
		if d.incarnations[job.Process{Rank: d.setup.Self.Rank, Replica: r}] != firstIncarnation {
			return false
		}
		others = true
	}
	return others
}

func (d *stores) enter(s *Section, signature uint64) error {
	d.claims.Enter(direct.Section{Number: s.Number, Tasks: len(s.Tasks),
		Signature: signature + uint64(len(s.Tasks)), Places: d.places})
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
	v := &section.Divergence{Section: s.Number, Task: -1, Replica: d.setup.Self.Replica, Peer: m.Peer}
	if m.Places {
		v.Mine, v.Theirs = "the arrays lie at other places", "all replicas have to call Alloc in the same order"
		return v
	}
	v.Mine = fmt.Sprintf("the tasks, shapes and small arguments have signature %016x", m.Mine)
	v.Theirs = fmt.Sprintf("%016x", m.Theirs)
	return v
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
	for i := range s.Tasks[task].Regions {
		g := &s.Tasks[task].Regions[i]
		if !g.Mode.Written() || len(g.Mem) == 0 {
			continue
		}
		at, _ := d.arena.Place(g.Mem)
		to, from := d.arena.At(peer, at, len(g.Mem)), g.Mem
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
	for i := range s.Tasks[task].Regions {
		g := &s.Tasks[task].Regions[i]
		if g.Mode.Written() && len(g.Mem) > 0 {
			at, _ := d.arena.Place(g.Mem)
			move(g.Mem, d.arena.At(peer, at, len(g.Mem)), d.nonTemporal)
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

// storeNoMore ends stores for good, for a program that begins anew with arrays
// of its own. It reports whether nobody stores into the old ones any more; until
// then it is called again.
func (h *sharing) storeNoMore() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stores == nil {
		return true
	}
	if !h.stores.claims.Close() {
		return false
	}
	h.stores.end()
	h.stores.arena.Release()
	h.stores = nil
	return true
}
