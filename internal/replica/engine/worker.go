package engine

import (
	"runtime"
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/base/counters"
	"github.com/intrahpc/intra/internal/job"
)

// worker is a goroutine that runs tasks. Worker 0 is the goroutine of the program, which
// also waits for results. The other workers help it in a section. Each worker gets a task from the
// protocol, runs it, and sends the frames that follow.
type worker struct {
	*sharing
	number  int
	out     []outgoing // frames to be sent next
	given   []copying  // results to be copied to peers
	peers   []int      // scratch memory of Ran
	batch   []int      // tasks that w has claimed together; empty if results are sent
	along   []int      // peers into whose arrays the task stores its results while it runs
	targets []target   // scratch memory of stores.along
	busy    bool       // the worker is in a section

	exchanged time.Duration // when it last sent its frames and received those of the peers

	// These fields describe the task that runs.
	inside   inside
	task     int
	batched  bool // the task is in a batch: nothing is sent or received before and after it
	inBody   bool
	from, to time.Duration
	counter  *counters.Reader // nil: no counters were requested
	counted  []counters.Count
}

func newWorkers(h *sharing, n int) []worker {
	all := make([]worker, n)
	for i := range all {
		all[i].sharing, all[i].number, all[i].counter = h, i, h.meter.Reader()
	}
	return all
}

// Threads returns the number of workers. Checked mode compares the memory before and after
// each task, so it has one worker.
func Threads(setup job.Setup) int {
	if setup.Check {
		return 1
	}
	return max(setup.Threads, 1)
}

// helpers are the workers that help the program's goroutine in one section.
type helpers struct {
	sync.WaitGroup
	size    int // number of workers, including the goroutine of the program
	joining bool
	end     func() // repeats a panic or Goexit of a body on a helper, in the goroutine of the program
}

// concurrency returns how many tasks of s may run at once: as many as there are workers,
// but only one if tasks use the same scratch space.
func (h *sharing) concurrency(s *Section) int {
	n := min(len(h.workers), len(s.Tasks))
	if n > 1 && h.checker.Scratched(len(s.Tasks), s.regions) {
		return 1
	}
	return n
}

// wakeHelper lets one more worker look for tasks of s, unless all workers already do. It
// is called under the lock whenever a task was found, so workers join as long as there are
// tasks.
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

// work runs tasks of s until none is left for w, and returns the step that explains this.
// It is called with the lock, which it releases while bodies run.
func (w *worker) work(s *Section) (step, error) {
	h := w.sharing
	for len(w.given) > 0 || h.err == nil && s.helpers.end == nil && !s.helpers.joining {
		seen := h.changes.Load()
		next, err := w.next(s)
		switch {
		case err != nil:
			return step{}, err
		case next.kind == runTask && len(w.batch) > 1:
			h.stores.runBatch(w, s)
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
// about them are transferred while other tasks run.
func (w *worker) next(s *Section) (step, error) {
	w.batch = w.batch[:0]
	if t, ok := s.verifier.first(); ok {
		return step{kind: runTask, task: t}, nil
	}
	return s.exchange.next(w, s)
}

// begin records that a task runs on w.
func (w *worker) begin(s *Section, task int) {
	w.task, w.to, w.batched, w.along = task, 0, w.inBatch(s, task), w.along[:0]
	if s.exchange.adopted(s, task) {
		w.stats.total.TasksRerun++
	}
}

// In a section of many short tasks a worker sends and receives once for a batch of tasks,
// because a frame for each task, and a poll of the links, may take longer than the task. Frames
// of a batch wait for at most batchInterval. They are sent earlier if a longer task runs, or if
// the worker has to wait. If claims are frames, they are sent late, so two replicas may both
// run a task that began within the last interval. In that case a section with few tasks has no
// batches: each replica would run all of it.
const (
	manyTasks     = 256
	mostFrames    = 64 // limit of waiting frames
	batchInterval = 50 * time.Microsecond
	// keptInterval takes the place of batchInterval if no result is sent and no frame waits.
	keptInterval = 500 * time.Microsecond
)

// inBatch reports whether w runs a task as part of a batch, without sending and receiving
// before and after it.
func (w *worker) inBatch(s *Section, task int) bool {
	if len(s.Tasks) < manyTasks && !s.exchange.binding() {
		return false
	}
	t := &s.Tasks[task]
	took, interval := t.known.average, batchInterval
	if s.keeps() && len(w.out) == 0 {
		interval = keptInterval
	}
	return took > 0 && took < interval && !s.exchange.first(t) && len(w.out) < mostFrames && w.from+took < w.exchanged+interval
}

// body runs the task of w, without the lock. Waiting frames, such as the claim of the
// task, are sent first, unless the task is in a batch.
func (w *worker) body(s *Section) {
	if !w.batched {
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
	if !w.batched {
		w.exchanged = w.from
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
	if !w.batched && !s.exchange.first(t) {
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

// deliver sends the frames that the last task of w has produced, such as its updates, and
// receives those of the peers. It is called without the lock.
func (w *worker) deliver() {
	w.flush()
	w.takeIn()
}

// help runs tasks of s until none can start. Tasks that become free later, because a peer
// has died, are found by the goroutine of the program, which then wakes helpers again.
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
		if s.helpers.end == nil { // only the first panic or Goexit of a helper counts
			s.helpers.end = end
		}
	}()
	if _, err := w.work(s); err != nil {
		h.fail(err)
	}
	h.unlocked(w.flush)
	returned = true
}

// takeIn receives frames that have arrived. One poll may leave long updates for the next
// one, and with them the claim of the task at which a peer is. Without that claim this
// replica would run the same task. The number of polls is bounded, so that tasks do not
// wait for everything that may still arrive.
func (h *sharing) takeIn() {
	for range 4 {
		if !h.poller.Poll() {
			return
		}
	}
}
