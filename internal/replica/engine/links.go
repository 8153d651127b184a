package engine

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
)

// peerLink is the link to one process. A process that replaces a dead one has a link of
// its own.
type peerLink struct {
	link        transport.Link
	incarnation uint32 // incarnation in which the process began
	closed      bool
}

// peerLinks are the links of a process, by the process at the other end.
type peerLinks struct {
	mu sync.Mutex
	to map[job.Process]*peerLink

	made atomic.Int64 // links
}

// set records a link, unless there is one to a later process in that slot: links are
// made concurrently, and the one to a joiner that has died since may be made last. It
// reports whether the link was recorded.
func (w *peerLinks) set(p job.Process, to *peerLink) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.to == nil {
		w.to = make(map[job.Process]*peerLink)
	}
	if old := w.to[p]; old != nil && old.incarnation > to.incarnation {
		return false
	}
	w.to[p] = to
	return true
}

// get returns the link to a process that began in that incarnation (0: any), nil if
// there is none.
func (w *peerLinks) get(p job.Process, incarnation uint32) *peerLink {
	w.mu.Lock()
	defer w.mu.Unlock()
	if to := w.to[p]; to != nil && (incarnation == 0 || to.incarnation == incarnation) {
		return to
	}
	return nil
}

// remove removes and returns a link, nil if it was not there.
func (w *peerLinks) remove(p job.Process, incarnation uint32) *peerLink {
	w.mu.Lock()
	defer w.mu.Unlock()
	to := w.to[p]
	if to == nil || to.incarnation != incarnation {
		return nil
	}
	delete(w.to, p)
	return to
}

// isClosed reports whether nothing more arrives from a process.
func (w *peerLinks) isClosed(p job.Process, incarnation uint32) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	to := w.to[p]
	return to == nil || to.incarnation != incarnation || to.closed
}

func (w *peerLinks) close(p job.Process, incarnation uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if to := w.to[p]; to != nil && to.incarnation == incarnation {
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
	for _, p := range slices.SortedFunc(maps.Keys(w.to), job.Process.Compare) {
		all = append(all, w.to[p].link)
	}
	return all
}

// madeOnUse is a link that is made on first use.
type madeOnUse interface {
	// WhenMade has f called at that time. It is called before Start.
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
