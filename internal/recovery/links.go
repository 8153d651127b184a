package recovery

import (
	"maps"
	"slices"

	"github.com/intrahpc/intra/internal/job"
)

// Links holds the links of a process to the other processes, by their slots. A slot has two links
// while a joiner is to relieve the process there. Links are made concurrently: the one to the
// joiner may be made first, and the one to a process that has died may be made last. The zero value
// has no links.
type Links[L any] struct {
	to   map[job.Process]*Link[L] // to the processes in the slots
	next map[job.Process]*Link[L] // to the joiners that will relieve them
	dead map[job.Endpoint]bool    // all processes that were removed: no link to them is added
}

// Link is the link to one process.
type Link[L any] struct {
	Link        L
	Incarnation uint32 // incarnation in which the process began
	Closed      bool   // nothing more arrives from the process
}

// Add adds the link to a process, unless the process is dead. It reports whether it did.
func (ls *Links[L]) Add(p job.Process, incarnation uint32, link L) bool {
	if ls.dead[job.Endpoint{Process: p, Incarnation: incarnation}] {
		return false
	}
	if ls.to == nil {
		ls.to, ls.next = make(map[job.Process]*Link[L]), make(map[job.Process]*Link[L])
	}
	added := &Link[L]{Link: link, Incarnation: incarnation}
	switch old := ls.to[p]; {
	case old == nil || old.Incarnation == incarnation:
		ls.to[p] = added
	case old.Incarnation < incarnation:
		ls.next[p] = added
	default:
		ls.to[p], ls.next[p] = added, old
	}
	return true
}

// Find returns the link to the process that began in that incarnation (0: the one in the
// slot), nil if there is none.
func (ls *Links[L]) Find(p job.Process, incarnation uint32) *Link[L] {
	if to := ls.to[p]; to != nil && (incarnation == 0 || to.Incarnation == incarnation) {
		return to
	}
	if next := ls.next[p]; next != nil && next.Incarnation == incarnation {
		return next
	}
	return nil
}

// Joiner returns the link to the process that receives the state of a slot: the one that will
// relieve the process there, or the one in the slot. It returns nil if there is none.
func (ls *Links[L]) Joiner(p job.Process) *Link[L] {
	if next := ls.next[p]; next != nil {
		return next
	}
	return ls.to[p]
}

// Remove removes and returns the link to a dead process, nil if there was none. The joiner
// that was to relieve the process has its slot from then on. holds reports whether a process
// of another incarnation had the slot.
func (ls *Links[L]) Remove(p job.Process, incarnation uint32) (link *Link[L], holds bool) {
	if ls.dead == nil {
		ls.dead = make(map[job.Endpoint]bool)
	}
	ls.dead[job.Endpoint{Process: p, Incarnation: incarnation}] = true
	to, next := ls.to[p], ls.next[p]
	switch {
	case to != nil && to.Incarnation == incarnation:
		if delete(ls.to, p); next != nil {
			ls.to[p] = next
			delete(ls.next, p)
		}
		return to, false
	case next != nil && next.Incarnation == incarnation:
		delete(ls.next, p)
		return next, true
	}
	return nil, to != nil
}

// Current returns the links to the processes in the slots.
func (ls *Links[L]) Current() map[job.Process]*Link[L] { return maps.Clone(ls.to) }

// All returns all links, those to the processes in the slots first, in the order of the slots.
func (ls *Links[L]) All() (all []*Link[L]) {
	for _, ends := range []map[job.Process]*Link[L]{ls.to, ls.next} {
		for _, p := range slices.SortedFunc(maps.Keys(ends), job.Process.Compare) {
			all = append(all, ends[p])
		}
	}
	return all
}
