package engine

import (
	"runtime"
	"slices"
	"unsafe"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/ntcopy"
	"github.com/intrahpc/intra/update"
)

// A task whose elements do not depend on each other stores its results as it
// runs. A body waits for what it reads, and a copy past the caches for what it
// writes: both together take little longer than one of them if they are pieces
// so short that the processor is at the next one before it has ended this one.
const alongBytes = 2 << 10

// wholeEvery is how often a section begins with a task that runs as a whole, so
// that it is known what bodies take without copies.
const wholeEvery = 16

// target is where a region of a task goes as the task runs.
type target struct {
	to, from []byte
	element  int  // bytes
	begins   bool // it is the first one for a peer
}

// elementwise is the region by which t runs in parts, nil if it cannot.
func (t *Task) elementwise() *update.Region {
	for i := range t.Regions {
		if g := &t.Regions[i]; g.Elementwise != nil {
			return g
		}
	}
	return nil
}

// along has t store its results while its body runs, where these go past the caches
// and peers are there.
func (d *stores) along(w *worker, s *Section, t *Task) (body func()) {
	g := t.elementwise()
	if g == nil || !d.nonTemporal {
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

// runAlong runs the task of w and stores its results into the arrays of the
// peers in w.along, without the lock.
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
		g.Elementwise(lo, hi)
		d.claims.Reached(w.task, hi)
		for i := range w.targets {
			c := &w.targets[i]
			to, from := c.to[lo*c.element:hi*c.element], c.from[lo*c.element:hi*c.element]
			if mid != nil && c.begins && lo <= n/2 && n/2 < hi {
				copy(to[:len(to)/2], from)
				if !mid() {
					runtime.Goexit() // in a job that runs in one process
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

// intoLine is how many elements of g lie in the cache line that it begins in the
// middle of: what is copied past the caches goes by lines.
func intoLine(g *update.Region) int {
	const line = 64
	return int(uintptr(unsafe.Pointer(unsafe.SliceData(g.Mem)))%line) / int(g.Type.Size())
}

// ranAlong reports whether the task of w has stored its results into the arrays
// of a peer already.
func (w *worker) ranAlong(peer int) bool { return slices.Contains(w.along, peer) }

// resume has a task whose owner has died run for those elements that it had not
// said to be done. The others are copied out of its arrays.
func (d *stores) resume(w *worker, s *Section, task, peer, from int) step {
	t := &s.Tasks[task]
	return step{kind: moveResults,
		move: func() {
			body := t.elementwise()
			n := body.Len()
			for g, theirs := range d.results(s, task, peer) {
				done := len(g.Mem) / n * from
				move(g.Mem[:done], theirs[:done], d.nonTemporal)
			}
			if from < n {
				w.inBody = true
				w.inside.runTask(s, t, func() { body.Elementwise(from, n) })
				w.inBody = false
			}
		},
		moved: func() {
			d.claims.Took(task)
			d.stats.received(t.known, 1)
			d.stats.total.TasksRerun++
		}}
}
