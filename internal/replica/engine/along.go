package engine

import (
	"runtime"
	"slices"
	"time"
	"unsafe"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/ntcopy"
	"github.com/intrahpc/intra/update"
)

// alongFrom is the least size of the updates of a section whose elementwise tasks store their
// results while they run. It is a fraction of the cache that the cores of a machine share: no
// cache holds the results until they are used.
const alongFrom = 4 << 20

// Smaller updates, of at least alongLeast bytes, are also stored while the tasks run, if the tasks
// compute them more slowly than memory accepts them: alongRate bytes in a nanosecond.
const (
	alongLeast = 256 << 10
	alongRate  = 8
)

// slowly reports whether the tasks take longer to compute that many bytes of results than
// memory takes to store them.
func (d *decision) slowly(bytes int) bool {
	return d.alone.n > foresight && d.alone.least() > time.Duration(bytes/alongRate)
}

// alongBytes is the size of the pieces in which a task with independent elements computes
// and stores its results. The body waits for reads from memory, and a copy past the caches
// waits for writes to memory. In pieces this short the processor overlaps both, and
// together they take little longer than one of them.
const alongBytes = 2 << 10

// wholeEvery is the number of sections of a kind after which the first task of a section
// runs whole. This measures again how long the body takes without copies.
const wholeEvery = 16

// target is a region of a task, with the array of a peer into which the task stores it
// while it runs.
type target struct {
	to, from []byte
	element  int  // size of an element in bytes
	begins   bool // first target of this peer
}

// elementwise returns the region whose function can run t in parts, nil if there is none.
func (t *Task) elementwise() *update.Region {
	for i := range t.Regions {
		if g := &t.Regions[i]; g.Elementwise() != nil {
			return g
		}
	}
	return nil
}

// along returns a body that runs t in parts and stores the results of each part at once.
// It returns nil in four cases: t cannot run in parts, the results of the section are not
// large, no peer can be stored into, or t is to run whole for a measurement.
func (d *stores) along(w *worker, s *Section, t *Task) (body func()) {
	g := t.elementwise()
	if g == nil || !d.runsAlong {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if whole := s.decision.storing.quotients.n < samples || s.decision.runs%wholeEvery == 0; whole && s.ran == 0 {
		return nil
	}
	if w.along = d.claims.Along(w.task, w.along[:0]); len(w.along) == 0 {
		return nil
	}
	return func() { d.runAlong(w, s, g) }
}

// runAlong runs the task of w in parts and stores each part into the arrays of the
// peers in w.along. It is called without the lock.
func (d *stores) runAlong(w *worker, s *Section, g *update.Region) {
	n, all := g.Len(), 0
	w.targets = w.targets[:0]
	for _, peer := range w.along {
		begins, size := true, 0
		for r, theirs := range d.results(s, w.task, peer) {
			w.targets = append(w.targets, target{theirs, r.Mem, len(r.Mem) / n, begins})
			begins, size = false, size+len(r.Mem)/n
		}
		all = size
	}
	mid := d.faults.Mid(job.KillUpdate)
	length := max(1, d.part/all)
	for lo, hi := 0, length-intoLine(g); lo < n; lo, hi = hi, hi+length {
		hi = min(max(hi, lo+1), n)
		g.Elementwise()(lo, hi)
		d.claims.Reached(w.task, hi)
		for i := range w.targets {
			c := &w.targets[i]
			to, from := c.to[lo*c.element:hi*c.element], c.from[lo*c.element:hi*c.element]
			if mid != nil && c.begins && lo <= n/2 && n/2 < hi {
				copy(to[:len(to)/2], from)
				if !mid() {
					runtime.Goexit() // only in a job that runs in one process
				}
			}
			if hi < n {
				ntcopy.Part(to, from)
			} else {
				ntcopy.Copy(to, from)
			}
		}
	}
}

// intoLine returns the number of elements between the beginning of g and that of the cache
// line in which g begins. The first part of a task is shorter by that number, so that
// later parts begin at a cache line: copies past the caches work by lines.
func intoLine(g *update.Region) int {
	const line = 64
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(g.Mem)))%line) / int(g.Type().Size())
}

// ranAlong reports whether the task of w has already stored its results into the arrays
// of a peer.
func (w *worker) ranAlong(peer int) bool { return slices.Contains(w.along, peer) }

// resume completes a task whose owner has died. The owner had finished the elements
// before index from. resume copies these out of the owner's arrays, and runs the task
// for the rest.
func (d *stores) resume(w *worker, s *Section, task, peer, from int) step {
	t := &s.Tasks[task]
	return step{kind: moveResults,
		move: func() {
			body := t.elementwise()
			n := body.Len()
			for g, theirs := range d.results(s, task, peer) {
				done := len(g.Mem) / n * from
				move(g.Mem[:done], theirs[:done])
			}
			if from < n {
				w.inBody = true
				w.inside.runTask(s, t, func() { body.Elementwise()(from, n) })
				w.inBody = false
			}
		},
		moved: func() {
			d.claims.Took(task)
			d.stats.received(t.known, 1)
			d.stats.total.TasksRerun++
		}}
}
