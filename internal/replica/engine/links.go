package engine

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
)

// peerLink is the link to one process. A process that replaces a dead one has another
// link.
type peerLink struct {
	link        transport.Link
	incarnation uint32 // incarnation in which the process began
	closed      bool
}

// peerLinks are the links of a process, by the process at the other end.
type peerLinks struct {
	mu sync.Mutex
	to map[job.Process]*peerLink
	// next holds the links to processes that will relieve the live ones in their slots. Such
	// a link replaces the other one when that one is removed.
	next map[job.Process]*peerLink

	made atomic.Int64 // links
}

// set records a link, unless a link to a later process in that slot exists. Links are made
// concurrently, so the link to a joiner that has died meanwhile may be made last. set
// reports whether it recorded the link.
func (w *peerLinks) set(p job.Process, to *peerLink) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.to == nil {
		w.to, w.next = make(map[job.Process]*peerLink), make(map[job.Process]*peerLink)
	}
	old, next := w.to[p], w.next[p]
	switch {
	case old != nil && old.incarnation > to.incarnation, next != nil && next.incarnation > to.incarnation:
		return false
	case old != nil && old.incarnation < to.incarnation: // no death of the old process was reported yet
		w.next[p] = to
	default:
		w.to[p] = to
	}
	return true
}

// find returns the link to a process that began in that incarnation (0: the one in the
// slot), nil if none exists. The caller holds mu.
func (w *peerLinks) find(p job.Process, incarnation uint32) *peerLink {
	if to := w.to[p]; to != nil && (incarnation == 0 || to.incarnation == incarnation) {
		return to
	}
	if next := w.next[p]; next != nil && next.incarnation == incarnation {
		return next
	}
	return nil
}

// get returns the link to a process that began in that incarnation (0: the one in the
// slot), nil if none exists.
func (w *peerLinks) get(p job.Process, incarnation uint32) *peerLink {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.find(p, incarnation)
}

// joiner returns the link to the process that receives the state of a slot: the one that
// will relieve the process there, or the one in the slot. It returns nil if none exists.
func (w *peerLinks) joiner(p job.Process) *peerLink {
	w.mu.Lock()
	defer w.mu.Unlock()
	if next := w.next[p]; next != nil {
		return next
	}
	return w.to[p]
}

// remove removes and returns a link, nil if there was none. holds reports whether a
// process of another incarnation is in the slot.
func (w *peerLinks) remove(p job.Process, incarnation uint32) (link *peerLink, holds bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	to, next := w.to[p], w.next[p]
	switch {
	case to != nil && to.incarnation == incarnation:
		if delete(w.to, p); next != nil {
			w.to[p] = next
			delete(w.next, p)
		}
		return to, false
	case next != nil && next.incarnation == incarnation:
		delete(w.next, p)
		return next, true
	}
	return nil, to != nil
}

// isClosed reports whether nothing more arrives from a process.
func (w *peerLinks) isClosed(p job.Process, incarnation uint32) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	to := w.find(p, incarnation)
	return to == nil || to.closed
}

func (w *peerLinks) close(p job.Process, incarnation uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if to := w.find(p, incarnation); to != nil {
		to.closed = true
	}
}

// all returns the current links.
func (w *peerLinks) all() map[job.Process]*peerLink {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.to)
}

func (w *peerLinks) links() []transport.Link {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []transport.Link
	for _, ends := range []map[job.Process]*peerLink{w.to, w.next} {
		for _, p := range slices.SortedFunc(maps.Keys(ends), job.Process.Compare) {
			all = append(all, ends[p].link)
		}
	}
	return all
}

// madeOnUse is a link that connects on first use.
type madeOnUse interface {
	// WhenMade sets a function to be called when the link is made. It is called before
	// Start.
	WhenMade(f func())
}

// begin starts the link to a process. The poller serves the link once it is made.
func (e *Engine) begin(l transport.Link, p job.Process, incarnation uint32) {
	made := func() {
		e.peerLinks.made.Add(1)
		e.poller.Add(l)
	}
	later, onUse := l.(madeOnUse)
	if onUse {
		later.WhenMade(func() {
			made()
			e.faults.At(job.KillLink)
		})
	}
	l.Start(newReceiver(e, p, incarnation))
	if !onUse {
		made()
	}
}
