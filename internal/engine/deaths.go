package engine

import (
	"maps"
	"slices"
	"sync"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
)

// peerLink is the link to one process. A process that takes the place of a dead
// one has a link of its own.
type peerLink struct {
	link        transport.Link
	incarnation uint32 // incarnation in which the process began
	closed      bool
}

// peerLinks are the links of a process, by whom they lead to.
type peerLinks struct {
	mu sync.Mutex
	to map[job.Process]*peerLink
}

// set notes a link, unless there is one to a later process in that place: links
// are made side by side, and one to a joiner that has died since may be the
// slower one. It reports whether the link is noted.
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

// get returns the link to a process that began in that incarnation; 0 means
// any. It is nil if there is none.
func (w *peerLinks) get(p job.Process, incarnation uint32) *peerLink {
	w.mu.Lock()
	defer w.mu.Unlock()
	if to := w.to[p]; to != nil && (incarnation == 0 || to.incarnation == incarnation) {
		return to
	}
	return nil
}

// remove takes a link away, and reports whether it was there.
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

// isClosed reports whether nothing more comes from a process.
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

func (w *peerLinks) links() []transport.Link {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []transport.Link
	for _, p := range slices.SortedFunc(maps.Keys(w.to), job.Process.Compare) {
		all = append(all, w.to[p].link)
	}
	return all
}

// peer returns in which incarnation a process began and the link to it, nil if
// it is dead.
func (e *Engine) peer(p job.Process) (incarnation uint32, link transport.Link) {
	if w := e.peerLinks.get(p, 0); w != nil {
		return w.incarnation, w.link
	}
	return 0, nil
}

// deaths brings the words of the head and the ends of links together: what
// the head says is done in its order, and a death only when the bytes of the
// dead process have been read to the end.
type deaths struct {
	mu       sync.Mutex
	queue    []job.Event
	settling bool // somebody does what is due
}

// incarnationOf is the incarnation in which the process of a verdict began.
func incarnationOf(v job.Verdict) uint32 { return max(v.Incarnation, firstIncarnation) }

// heard takes in a word of the head that has its place among the deaths.
func (e *Engine) heard(event job.Event) {
	e.deaths.mu.Lock()
	e.deaths.queue = append(e.deaths.queue, event)
	e.deaths.mu.Unlock()
	if v, ok := event.(job.Verdict); ok {
		if w := e.peerLinks.get(v.Process, incarnationOf(v)); w != nil {
			w.link.PeerDied()
		}
	}
	e.settle()
}

func (e *Engine) linkClosed(p job.Process, incarnation uint32) {
	e.peerLinks.close(p, incarnation)
	e.settle()
}

// settle does what is due.
func (e *Engine) settle() {
	d := &e.deaths
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.settling {
		return // it looks again
	}
	d.settling = true
	for len(d.queue) > 0 && e.isDue(d.queue[0]) {
		event := d.queue[0]
		d.queue = d.queue[1:]
		d.mu.Unlock()
		switch event := event.(type) {
		case job.Verdict:
			e.dead(event.Process, incarnationOf(event))
			e.head.Handled(event.Epoch)
		case job.Connected:
			e.connect(event)
		case job.Order:
			e.order(event)
		}
		d.mu.Lock()
	}
	d.settling = false
}

func (e *Engine) isDue(event job.Event) bool {
	v, ok := event.(job.Verdict)
	return !ok || e.peerLinks.isClosed(v.Process, incarnationOf(v))
}

// dead: a process is dead, and all that it sent is here.
func (e *Engine) dead(p job.Process, incarnation uint32) {
	w := e.peerLinks.remove(p, incarnation)
	if w != nil {
		e.poller.Remove(w.link)
	}
	e.mu.Lock()
	_, lived := e.incarnations[p]
	if lived {
		delete(e.incarnations, p)
		if p.Rank == e.setup.Self.Rank {
			e.peers[p.Replica] = nil
			e.machine.Dead(p.Replica)
			e.performOnce(e.once.Dead(p.Replica))
		}
	}
	e.member.Died(p)
	delete(e.outbound, p)
	msgs := e.msgs.Load()
	e.mu.Unlock()
	e.changed()
	if msgs != nil {
		msgs.Dead(p.Rank, p.Replica)
	}
}
