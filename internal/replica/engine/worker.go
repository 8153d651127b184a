package engine

import (
	"runtime"
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/base/counters"
	"github.com/intrahpc/intra/internal/job"
)

// worker is a goroutine that runs tasks. Number 0 is the program's own, which also
// waits; the others help it in a section. Each asks the protocol for a task, runs it,
// and sends the frames that follow.
type worker struct {
	*sharing
	number  int
	out     []outgoing // frames to send next
	given   []copying  // results that are to be copied to peers
	peers   []int      // scratch of Ran
	along   []int      // peers into whose arrays the task stores its results while it runs
	targets []target   // scratch of along
	busy    bool       // in a section

	breathed time.Duration // when it last sent its frames, and received

	// The fields below describe the task that runs.
	inside   inside
	task     int
	hurried  bool // nothing is sent or received before and after it
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

// Threads returns the number of workers. Checked mode compares the memory before and
// after each task, so its tasks run one after the other.
func Threads(setup job.Setup) int {
	if setup.Check {
		return 1
	}
	return max(setup.Threads, 1)
}

// helpers are the workers that help the program's goroutine in one section.
type helpers struct {
	sync.WaitGroup
	size    int // workers, including the program's goroutine
	joining bool
	end     func() // repeats, in the program's goroutine, the panic or Goexit of a body on a helper
}

// concurrency returns how many tasks of s may run at once: as many as there are
// workers, but only one if tasks use the same scratch space.
func (h *sharing) concurrency(s *Section) int {
	n := min(len(h.workers), len(s.Tasks))
	if n > 1 && h.checker.Scratched(len(s.Tasks), s.regions) {
		return 1
	}
	return n
}

// wakeHelper lets one more worker look for tasks of s, unless all workers do so already. It
// is called under the lock whenever a task was found, so that workers join as long as there
// are tasks.
func (h *sharing) wakeHelper(s *Section) {
	for i := 1; i < s.helpers.size; i++ {
		if w := &h.workers[i]; !w.busy {
			w.busy = true
			s.helpers.Go(func() { w.help(s) })
			return
		}
	}
}

// joinHelpers releases the lock and waits until the workers have left s.
func (h *sharing) joinHelpers(s *Section) {
	s.helpers.joining = true
	h.mu.Unlock()
	s.helpers.Wait()
}

// work runs tasks of s until there is none to run here, and returns the step that says
// why. It is called with the lock, which it releases while bodies run.
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

// next returns the next step of w in s. Sampled tasks come first, so that the messages
// about them travel while the others run.
func (w *worker) next(s *Section) (step, error) {
	if t, ok := s.verifier.first(); ok {
		return step{kind: runTask, task: t}, nil
	}
	return s.exchange.next(w, s)
}

// begin records that a task runs on w.
func (w *worker) begin(s *Section, task int) {
	w.task, w.to, w.hurried, w.along = task, 0, w.hurries(s, task), w.along[:0]
	if s.exchange.adopted(s, task) {
		w.stats.total.TasksRerun++
	}
}

// In a section of many short tasks a worker sends and receives once for a batch of
// them: a frame for each, and a look at the links, may take longer than the task. Its
// frames wait for the batch interval, breath. They do not wait while a longer task
// runs, or while the worker itself waits. Where the blocks of two replicas meet, both
// may run a task that began within the last interval.
const (
	manyTasks  = 256
	mostFrames = 64 // frames that wait
	breath     = 50 * time.Microsecond
)

// hurries reports whether w runs a task without sending and receiving before and after
// it.
func (w *worker) hurries(s *Section, task int) bool {
	if len(s.Tasks) < manyTasks {
		return false
	}
	t := &s.Tasks[task]
	took := t.known.average
	return took > 0 && took < breath && !s.exchange.first(t) && len(w.out) < mostFrames && w.from+took < w.breathed+breath
}

// body runs the task of w, without the lock. Frames that wait, such as the claim of the
// task, leave first unless w is in a batch.
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
	if s.verifier.index(w.task) < 0 && w.flips == nil {
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
	s.verifier.after(s, w.task)
	w.faults.At(job.KillTask)
	w.to = w.now()
	if !w.hurried && !s.exchange.first(t) {
		w.takeIn()
	}
}

// ran records that the task of w has run.
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

// deliver sends the frames that the last task of w has caused, such as its updates, and receives
// those of the peers. It is called without the lock.
func (w *worker) deliver() {
	w.flush()
	w.takeIn()
}

// help runs tasks of s until there is none to start. Tasks that become free later,
// because a peer has died, are found by the program's goroutine, which then wakes
// helpers again.
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

// takeIn receives what has arrived. One poll may leave long updates for the next one,
// and with them the claim that keeps this replica from running the task that its peer
// is at. The number of polls is bounded, so that tasks do not wait for all that may
// still arrive.
func (h *sharing) takeIn() {
	for range 4 {
		if !h.poller.Poll() {
			return
		}
	}
}
