package engine

import (
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/arena"
	"github.com/intrahpc/intra/internal/direct"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/ntcopy"
	"github.com/intrahpc/intra/internal/section"
	"github.com/intrahpc/intra/sched"
)

// stores is what a replica needs to store results straight into the arrays of
// the others, which are on the same host. Sections whose tasks write nothing
// but such arrays are completed that way, all others by updates; a replica
// that is new has no part in the shared memory, and with it in the rank all
// sections are.
type stores struct {
	arena *arena.Arena
	board *direct.Board
	ended func() // called when no array is to come from the arena any more

	stuck struct { // where a peer was for which this replica has waited in vain
		at uint64
		ok bool
	}
}

// arenaWords are the words of an arena as the protocol uses them.
type arenaWords struct{ *arena.Arena }

func (w arenaWords) Load(r, k int) uint64     { return w.Word(r, k).Load() }
func (w arenaWords) Store(r, k int, v uint64) { w.Word(r, k).Store(v) }
func (w arenaWords) CompareAndSwap(r, k int, old, new uint64) bool {
	return w.Word(r, k).CompareAndSwap(old, new)
}

var _ = [arena.Words - direct.NumWords]struct{}{} // there are enough

// StoreInto lets this replica store into what the others allocate in a, until
// ended is called.
func (h *sharing) StoreInto(a *arena.Arena, ended func()) {
	live := func(replica int) bool { return h.machine.Live(replica) }
	h.stores = &stores{arena: a, ended: ended,
		board: direct.New(arenaWords{a}, h.setup.Self.Replica, a.Replicas(), live)}
}

// storable reports whether s can be completed by stores, and where the memory
// lies that its tasks write, as a number that all replicas agree on.
func (h *sharing) storable(s *Section) (places uint64, ok bool) {
	d := h.stores
	if d == nil || s.Agree != nil || len(s.Tasks) == 0 || len(s.Tasks) > direct.MaxTasks {
		return 0, false
	}
	alone := true
	for r, link := range h.peers {
		if link == nil {
			continue
		}
		if h.incarnations[job.Process{Rank: h.setup.Self.Rank, Replica: r}] != firstIncarnation {
			return 0, false
		}
		alone = false
	}
	if alone {
		return 0, false
	}
	for i := range s.Tasks {
		for k := range s.Tasks[i].Regions {
			g := &s.Tasks[i].Regions[k]
			if !g.Mode.Written() || len(g.Mem) == 0 {
				continue
			}
			at, ok := d.arena.Place(g.Mem)
			if !ok {
				return 0, false
			}
			places = (places+uint64(at))*0x9e3779b97f4a7c15 + uint64(len(g.Mem))
		}
	}
	return places, true
}

// next finds what w does next in s. What is to be copied it copies itself.
func (w *worker) next(s *Section) (section.Step, error) {
	h := w.sharing
	if !s.stored {
		step, acts := h.machine.Next(h.now())
		w.frames(s, acts)
		return step, nil
	}
	for {
		step, err := h.stores.board.Next()
		if err != nil {
			return section.Step{}, h.mismatch(err.(*direct.Mismatch))
		}
		switch step.Kind {
		case direct.Run:
			return section.Step{Kind: section.Run, Task: step.Task}, nil
		case direct.Wait:
			return section.Step{Kind: section.Wait}, nil
		case direct.Done:
			return section.Step{Kind: section.Done}, nil
		case direct.Give:
			w.give(s, step.Task, step.Peer)
		case direct.Take:
			h.unlocked(func() { h.copyFrom(s, step.Task, step.Peer) })
			h.stores.board.Took(step.Task)
			h.stats.received(s.Tasks[step.Task].known, 1)
		}
	}
}

func (h *sharing) mismatch(m *direct.Mismatch) error {
	d := &section.Divergence{Section: h.machine.Number(), Task: -1, Replica: h.setup.Self.Replica, Peer: m.Peer}
	if m.Places {
		d.Mine, d.Theirs = "the arrays lie at other places", "all replicas have to call Alloc in the same order"
		return d
	}
	d.Mine = fmt.Sprintf("the tasks, shapes and small arguments have signature %016x", m.Mine)
	d.Theirs = fmt.Sprintf("%016x", m.Theirs)
	return d
}

// made copies the results of a task that has run here to all that are in s.
func (w *worker) made(s *Section, task int) {
	w.peers = w.sharing.stores.board.Ran(task, w.peers[:0])
	for _, p := range w.peers {
		w.give(s, task, p)
	}
	w.sharing.unlocked(w.takeIn)
}

// give copies the results of a task to a peer, and lets it know.
func (w *worker) give(s *Section, task, peer int) {
	h, l := w.sharing, &s.Tasks[task]
	h.unlocked(func() { h.copyTo(s, task, peer) })
	h.stores.board.Gave(task, peer)
	h.stats.sent(l.known, l.bytes)
	l.known.Stored++
	h.traceUpdate(job.TraceSend, s, task, peer)
	if link := h.peers[peer]; link != nil { // it may sleep
		w.out = append(w.out, outgoing{link: link, frame: h.outFrame(w.entry(s))})
	}
}

// copyTo copies the results of a task into the arrays of a peer.
func (h *sharing) copyTo(s *Section, task, peer int) {
	mid := h.kills.mid(job.KillUpdate)
	for i := range s.Tasks[task].Regions {
		g := &s.Tasks[task].Regions[i]
		if !g.Mode.Written() || len(g.Mem) == 0 {
			continue
		}
		at, _ := h.stores.arena.Place(g.Mem)
		to, from := h.stores.arena.At(peer, at, len(g.Mem)), g.Mem
		if mid != nil {
			half := copy(to[:len(to)/2], from)
			mid()
			to, from, mid = to[half:], from[half:], nil
		}
		move(to, from, s.past)
	}
}

// copyFrom copies the results of a task out of the arrays of a dead peer.
func (h *sharing) copyFrom(s *Section, task, peer int) {
	for i := range s.Tasks[task].Regions {
		g := &s.Tasks[task].Regions[i]
		if g.Mode.Written() && len(g.Mem) > 0 {
			at, _ := h.stores.arena.Place(g.Mem)
			move(g.Mem, h.stores.arena.At(peer, at, len(g.Mem)), s.past)
		}
	}
}

// move copies memory that does not overlap, past the caches if that is asked
// for.
func move(to, from []byte, past bool) {
	if past {
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
func (h *sharing) meet(s *Section) error {
	d := h.stores
	patience := leastPatience
	if s.decision.alone.n > 0 {
		patience = max(patience, 2*s.decision.alone.median(samples))
	}
	until, last := h.now()+patience, uint64(0)
	for first := true; h.err == nil; first = false {
		seen := h.changes.Load()
		at, behind := h.machine.Behind()
		if !behind {
			d.stuck.ok = false
			return nil
		}
		if d.stuck.ok && d.stuck.at == at {
			return nil
		}
		if !first && at > last {
			until = h.now() + patience
		}
		last = at
		if h.now() >= until {
			d.stuck.at, d.stuck.ok = at, true
			return nil
		}
		var err error
		h.unlocked(func() {
			err = h.poller.WaitAttending(h.runCtx, h.start.Add(until), func() bool { return h.changedSince(seen) })
		})
		if err != nil {
			return h.ended(err)
		}
	}
	return nil
}

// storeNoMore ends stores for good, for a life that begins anew with arrays of
// its own. It reports whether nobody stores into the old ones any more; until
// then it is called again.
func (h *sharing) storeNoMore() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stores == nil {
		return true
	}
	if !h.stores.board.Close() {
		return false
	}
	h.stores.ended()
	h.stores.arena.Release()
	h.stores = nil
	return true
}

// adopted reports whether task belonged to a replica that is dead.
func (h *sharing) adopted(s *Section, task int) bool {
	if s.stored {
		return !h.machine.Live(sched.Owner(len(s.Tasks), len(h.peers), task))
	}
	return h.machine.Adopted(task)
}
