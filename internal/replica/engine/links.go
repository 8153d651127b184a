package engine

import (
	"sync"
	"sync/atomic"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/transport"
)

// peerLink is the link to one process. A process that replaces a dead one has another
// link.
type peerLink = recovery.Link[transport.Link]

// peerLinks are the links of a process, by the process at the other end.
type peerLinks struct {
	mu    sync.Mutex
	slots recovery.Links[transport.Link]

	made atomic.Int64 // number of links made
}

// set records a link, unless its process is dead. It reports whether it recorded the link.
func (w *peerLinks) set(p job.Process, incarnation uint32, link transport.Link) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.slots.Add(p, incarnation, link)
}

// get returns the link to a process that began in that incarnation (0: the one in the
// slot), nil if none exists.
func (w *peerLinks) get(p job.Process, incarnation uint32) *peerLink {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.slots.Find(p, incarnation)
}

// joiner returns the link to the process that receives the state of a slot. It returns nil if
// none exists.
func (w *peerLinks) joiner(p job.Process) *peerLink {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.slots.Joiner(p)
}

// remove removes and returns a link, nil if there was none. holds reports whether a
// process of another incarnation is in the slot.
func (w *peerLinks) remove(p job.Process, incarnation uint32) (link *peerLink, holds bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.slots.Remove(p, incarnation)
}

// isClosed reports whether nothing more arrives from a process.
func (w *peerLinks) isClosed(p job.Process, incarnation uint32) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	to := w.slots.Find(p, incarnation)
	return to == nil || to.Closed
}

func (w *peerLinks) close(p job.Process, incarnation uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if to := w.slots.Find(p, incarnation); to != nil {
		to.Closed = true
	}
}

// current returns the links to the processes in the slots.
func (w *peerLinks) current() map[job.Process]*peerLink {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.slots.Current()
}

func (w *peerLinks) links() (all []transport.Link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.slots.All() {
		all = append(all, l.Link)
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
