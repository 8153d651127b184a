package intra

import (
	"maps"
	"slices"
	"sync"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
)

// wire is the link to one process. A process that takes the place of a dead
// one has a wire of its own.
type wire struct {
	link   transport.Link
	birth  uint32 // incarnation in which the process began
	closed bool
}

// wires are the links of a process, by whom they lead to.
type wires struct {
	mu sync.Mutex
	to map[job.Process]*wire
}

func (w *wires) set(p job.Process, to *wire) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.to == nil {
		w.to = make(map[job.Process]*wire)
	}
	w.to[p] = to
}

// get returns the wire to a process that began in that incarnation; 0 means
// any. It is nil if there is none.
func (w *wires) get(p job.Process, birth uint32) *wire {
	w.mu.Lock()
	defer w.mu.Unlock()
	if to := w.to[p]; to != nil && (birth == 0 || to.birth == birth) {
		return to
	}
	return nil
}

// remove takes a wire away, and reports whether it was there.
func (w *wires) remove(p job.Process, birth uint32) *wire {
	w.mu.Lock()
	defer w.mu.Unlock()
	to := w.to[p]
	if to == nil || to.birth != birth {
		return nil
	}
	delete(w.to, p)
	return to
}

// isClosed reports whether nothing more comes from a process.
func (w *wires) isClosed(p job.Process, birth uint32) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	to := w.to[p]
	return to == nil || to.birth != birth || to.closed
}

func (w *wires) close(p job.Process, birth uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if to := w.to[p]; to != nil && to.birth == birth {
		to.closed = true
	}
}

func (w *wires) links() []transport.Link {
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
func (e *engine) peer(p job.Process) (birth uint32, link transport.Link) {
	if w := e.wires.get(p, 0); w != nil {
		return w.birth, w.link
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

// birthOf is the incarnation in which the process of a verdict began.
func birthOf(v job.Verdict) uint32 { return max(v.Incarnation, firstLife) }

// heard takes in a word of the head that has its place among the deaths.
func (e *engine) heard(event job.Event) {
	e.deaths.mu.Lock()
	e.deaths.queue = append(e.deaths.queue, event)
	e.deaths.mu.Unlock()
	if v, ok := event.(job.Verdict); ok {
		if w := e.wires.get(v.Process, birthOf(v)); w != nil {
			w.link.PeerDied()
		}
	}
	e.settle()
}

func (e *engine) linkClosed(p job.Process, birth uint32) {
	e.wires.close(p, birth)
	e.settle()
}

// settle does what is due.
func (e *engine) settle() {
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
			e.dead(event.Process, birthOf(event))
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

func (e *engine) isDue(event job.Event) bool {
	v, ok := event.(job.Verdict)
	return !ok || e.wires.isClosed(v.Process, birthOf(v))
}

// dead: a process is dead, and all that it sent is here.
func (e *engine) dead(p job.Process, birth uint32) {
	w := e.wires.remove(p, birth)
	if w != nil {
		e.poller.Remove(w.link)
	}
	e.mu.Lock()
	_, lived := e.lives[p]
	if lived {
		delete(e.lives, p)
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
