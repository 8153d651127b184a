package engine

import (
	"runtime"
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/section"
	"github.com/intrahpc/intra/transport"
)

// worker is a goroutine that runs tasks: the program's own, which is number 0
// and besides waits, or one that helps it in a section. Each asks the protocol
// for a task, runs it, and sends what it has to say about it.
type worker struct {
	*sharing
	number int
	out    []outgoing       // frames to send next
	peers  []int            // to be given the results of a task
	links  []transport.Link // to the peers, for reserve
	busy   bool             // in a section
	inBody bool             // of a task
}

func newWorkers(h *sharing, n int) []worker {
	all := make([]worker, n)
	for i := range all {
		all[i].sharing, all[i].number = h, i
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
		if returned || s.helpers.end != nil {
			return
		}
		switch v := recover(); {
		case v == nil:
			s.helpers.end = runtime.Goexit
		case w.inBody:
			s.helpers.end = func() { panic(v) }
		default:
			panic(v)
		}
	}()
	for h.err == nil && !s.helpers.joining && s.helpers.end == nil {
		step, err := w.next(s)
		if err != nil {
			h.fail(err)
		}
		if err != nil || step.Kind != section.Run {
			break
		}
		h.wakeHelper(s)
		w.run(s, step.Task)
	}
	h.unlocked(w.flush)
	returned = true
}

// large updates leave before anything else is done; the claim of the next
// task waits for nothing then.
const large = 4 << 10

// run runs one task here. It is called under the lock, which it gives up
// meanwhile, and leaves the updates of the task to be sent with the claim of
// the next one.
func (w *worker) run(s *Section, task int) {
	h := w.sharing
	if h.adopted(s, task) {
		h.stats.total.TasksRerun++
	}
	l := &s.Tasks[task]
	var from, to time.Duration
	var lent room
	h.unlocked(func() {
		w.flush()
		defer func() {
			if to == 0 { // the body has not returned
				lent.cancel()
			}
		}()
		var fused func([]byte)
		lent, fused = w.reserve(s, l)
		from = h.now()
		w.inBody = true
		if fused != nil {
			s.Guard(l, func() { fused(lent.mem) })
		} else {
			s.Run(task)
		}
		w.inBody = false
		h.kills.at(job.KillTask)
		to = h.now()
		if l.bytes < large && !s.stored {
			h.takeIn()
		}
	})
	h.trace.task(s, task, w.number, from, to)
	spent := to - from
	h.stats.ran(l.known, spent)
	l.known.average = average(l.known.average, spent)
	l.times.Took(h.setup.Self.Replica, spent)
	s.inBodies, s.ran = s.inBodies+spent, s.ran+1
	if s.stored {
		w.made(s, task)
		return
	}
	w.frames(s, h.machine.Ran(task))
	w.commit(&lent)
	if l.bytes >= large {
		h.unlocked(func() {
			lent.cancel()
			w.flush()
			h.takeIn()
		})
	}
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
