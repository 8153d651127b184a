package engine

import (
	"runtime"
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/base/counters"
	"github.com/intrahpc/intra/internal/job"
)

// worker is a goroutine that runs tasks: the program's own, which is number 0
// and besides waits, or one that helps it in a section. Each asks the protocol
// for a task, runs it, and sends what it has to say about it.
type worker struct {
	*sharing
	number  int
	out     []outgoing // frames to send next
	given   []copying  // results that are to be copied to peers
	peers   []int      // scratch of Ran
	along   []int      // peers that the task stores its results into the arrays of while it runs
	targets []target   // scratch of that
	busy    bool       // in a section

	breathed time.Duration // when it last sent what it had to say, and received

	// The task that runs.
	inside   inside
	task     int
	hurried  bool // it does not breathe for that
	inBody   bool
	from, to time.Duration
	counter  *counters.Reader // nil: nothing is counted
	counted  []counters.Count
}

func newWorkers(h *sharing, n int) []worker {
	all := make([]worker, n)
	for i := range all {
		all[i].sharing, all[i].number, all[i].counter = h, i, h.meter.Reader()
	}
	return all
}

// Threads is on how many workers tasks run. Checked mode compares the memory
// before and after each task, so there they run one after the other.
func Threads(setup job.Setup) int {
	if setup.Check {
		return 1
	}
	return max(setup.Threads, 1)
}

// helpers are the workers that help the program's goroutine in one section.
type helpers struct {
	sync.WaitGroup
	size    int // with the program's goroutine
	joining bool
	end     func() // ends the program's goroutine as a body ended a worker's
}

// concurrency is how many tasks of s may run at once: as many as there are
// workers, unless they use the same scratch space.
func (h *sharing) concurrency(s *Section) int {
	n := min(len(h.workers), len(s.Tasks))
	if n > 1 && h.checker.Scratched(len(s.Tasks), s.regions) {
		return 1
	}
	return n
}

// wakeHelper has one more worker look for tasks of s, unless all do. It is called
// under the lock whenever a task was found, so that workers come as long as
// there is something to do.
func (h *sharing) wakeHelper(s *Section) {
	for i := 1; i < s.helpers.size; i++ {
		if w := &h.workers[i]; !w.busy {
			w.busy = true
			s.helpers.Go(func() { w.help(s) })
			return
		}
	}
}

// joinHelpers gives up the lock and waits until the workers have left s.
func (h *sharing) joinHelpers(s *Section) {
	s.helpers.joining = true
	h.mu.Unlock()
	s.helpers.Wait()
}

// work runs tasks of s until there is nothing to do here, and says why. It is
// called with the lock, which it gives up while bodies run.
func (w *worker) work(s *Section) (step, error) {
	h := w.sharing
	for len(w.given) > 0 || h.err == nil && s.helpers.end == nil && !s.helpers.joining {
		seen := h.changes.Load()
		next, err := w.next(s)
		switch {
		case err != nil:
			return step{}, err
		case next.kind == runTask:
			h.wakeHelper(s)
			w.begin(s, next.task)
			h.unlocked(func() { w.body(s) })
			w.ran(s)
			if s.exchange.first(&s.Tasks[next.task]) {
				h.unlocked(w.deliver)
			}
		case next.kind == moveResults:
			h.unlocked(next.move)
			next.moved()
		default:
			next.seen = seen
			return next, nil
		}
	}
	return step{}, nil
}

// next says what w does next in s: sampled tasks come first, so that what is said of
// them travels while the others run.
func (w *worker) next(s *Section) (step, error) {
	if t, ok := s.verifier.first(); ok {
		return step{kind: runTask, task: t}, nil
	}
	return s.exchange.next(w, s)
}

// begin notes that a task runs on w.
func (w *worker) begin(s *Section, task int) {
	w.task, w.to, w.hurried, w.along = task, 0, w.hurries(s, task), w.along[:0]
	if s.exchange.adopted(s, task) {
		w.stats.total.TasksRerun++
	}
}

// In a section of many short tasks a worker sends and receives once for many of
// them: a frame of its own, and a look at the links, may take longer than the
// task. What it has to say then waits until breath has passed, and not while a
// task runs that takes longer, or while the worker waits itself. Where the blocks
// of replicas meet they run a task twice if it was begun less than that before.
const (
	manyTasks  = 256
	mostFrames = 64 // that wait
	breath     = 50 * time.Microsecond
)

// hurries: w runs a task without what else it does before and after one.
func (w *worker) hurries(s *Section, task int) bool {
	if len(s.Tasks) < manyTasks {
		return false
	}
	t := &s.Tasks[task]
	took := t.known.average
	return took > 0 && took < breath && !s.exchange.first(t) && len(w.out) < mostFrames && w.from+took < w.breathed+breath
}

// body runs the task of w, without the lock. What w had to say before, the claim
// of the task for one, leaves first.
func (w *worker) body(s *Section) {
	if !w.hurried {
		w.flush()
	}
	defer func() {
		if w.to == 0 { // the body has not returned
			w.counter.Abandon()
		}
	}()
	t := &s.Tasks[w.task]
	body := t.Body
	if s.verifier.index(w.task) < 0 && w.flips == nil && w.varied == nil {
		if along := s.exchange.along(w, s, t); along != nil {
			body = along
		}
	}
	s.verifier.before(s, w.task)
	w.from = w.now()
	if !w.hurried {
		w.breathed = w.from
	}
	w.inBody = true
	w.counter.Begin()
	w.inside.runTask(s, t, body)
	w.counted = w.counter.End()
	w.inBody = false
	w.flip(s, w.task)
	w.disturb(s, w.task)
	s.verifier.after(s, w.task)
	w.faults.At(job.KillTask)
	w.to = w.now()
	if !w.hurried && !s.exchange.first(t) {
		w.takeIn()
	}
}

// ran takes in that the task of w has run.
func (w *worker) ran(s *Section) {
	t := &s.Tasks[w.task]
	w.trace.task(s, w.task, w.number, w.from, w.to)
	spent := w.to - w.from
	w.stats.ran(t, spent, w.counted)
	t.known.average = average(t.known.average, spent)
	t.times.Took(w.setup.Self.Replica, spent)
	s.ran++
	if len(w.along) > 0 {
		s.along++
	} else {
		s.inBodies += spent
	}
	s.exchange.ran(w, s, w.task)
	s.verifier.ran(w.task)
	w.reconsider(s)
}

// deliver sends what the task of w has led to, without the lock.
func (w *worker) deliver() {
	w.flush()
	w.takeIn()
}

// help runs tasks of s until there is none to start. Tasks that become free
// later, since a peer has died, are found by the program's goroutine, which
// then wakes helpers again.
func (w *worker) help(s *Section) {
	h := w.sharing
	h.mu.Lock()
	defer h.mu.Unlock()
	returned := false
	w.inBody = false
	defer func() {
		w.busy = false
		h.changed()
		if returned {
			return
		}
		end := runtime.Goexit
		if v := recover(); v != nil {
			if !w.inBody {
				panic(v)
			}
			end = func() { panic(v) }
		}
		if s.helpers.end == nil { // else another helper was first
			s.helpers.end = end
		}
	}()
	if _, err := w.work(s); err != nil {
		h.fail(err)
	}
	h.unlocked(w.flush)
	returned = true
}

// takeIn receives what has arrived. One poll may leave long updates for the
// next, and with them the claim that keeps this replica from running the task
// that its peer is at; but tasks do not wait for all that may still come.
func (h *sharing) takeIn() {
	for range 4 {
		if !h.poller.Poll() {
			return
		}
	}
}
