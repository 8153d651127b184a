package engine

import (
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/update"
)

// Tasks that take less than shortTask are timed one in timedEvery, which is coprime to
// usual numbers of tasks in a section, so that each of them gets its turn: reading the clock
// takes as long as such a task. The times of the others are estimated. Numbers of tasks, kill
// points and signatures are exact.
const (
	shortTask  = 4 * time.Microsecond
	timedEvery = 31
)

// pace decides which tasks of a kernel are timed, of those that run without the protocol.
// Only the goroutine of the program uses it.
type pace struct {
	untimed int           // tasks that run before one is timed again
	average time.Duration // of the timed ones, a moving average
	last    time.Duration // of the last of them
}

func (p *pace) took(d time.Duration) {
	p.average, p.last = average(p.average, d), d
	if p.untimed = 0; p.average < shortTask && d < shortTask {
		p.untimed = timedEvery - 1
	}
}

// typical estimates how long a task took that was not timed. The smaller value counts: a
// timed task may have waited for a core.
func (p *pace) typical() time.Duration { return min(p.average, p.last) }

// exact reports whether something is recorded of each task.
func (h *sharing) exact() bool {
	return h.trace != nil || h.flips != nil || h.workers[0].counter != nil
}

// RunAlone runs task i of s in the goroutine of the program, without the protocol.
func (h *sharing) RunAlone(s *Section, i int) {
	t := &s.Tasks[i]
	if k := h.stats.found; h.stats.last == t.Kernel && k.pace.untimed > 0 && !h.exact() {
		k.pace.untimed--
		h.workers[0].inside.runShort(s, i)
		h.faults.At(job.KillTask)
		return
	}
	from, counter := h.now(), h.workers[0].counter
	counter.Begin()
	defer counter.Abandon()
	h.workers[0].inside.runTask(s, t, t.Body)
	counted := counter.End()
	h.flip(s, i)
	h.faults.At(job.KillTask)
	to := h.now()
	h.mu.Lock()
	t.known, t.counted = h.stats.of(t.Kernel), true
	h.stats.ran(t, to-from, counted)
	t.known.pace.took(to - from)
	h.mu.Unlock()
	s.inBodies, s.ran = s.inBodies+to-from, s.ran+1
	h.trace.task(s, i, 0, from, to)
}

// countShort adds the tasks of s that RunAlone has not timed to the statistics. The caller
// holds the lock.
func (h *sharing) countShort(s *Section) {
	h.workers[0].inside.short.Store(nil)
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if t.counted {
			continue
		}
		k := h.stats.of(t.Kernel)
		spent := k.pace.typical()
		t.known = k
		h.stats.total.TasksRun++
		k.Run++
		k.Seconds += spent.Seconds()
		read, written := update.Traffic(t.Regions)
		k.ReadBytes += int64(read)
		k.WrittenBytes += int64(written)
		s.inBodies, s.ran = s.inBodies+spent, s.ran+1
	}
}
