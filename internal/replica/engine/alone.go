package engine

import (
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// Reading the clock takes as long as a task shorter than shortTask. So only one of
// timedEvery such tasks is timed, and the times of the others are estimated. timedEvery is
// coprime to usual numbers of tasks in a section, so every task is timed from time to
// time. Counts of tasks, kill points and signatures remain exact.
const (
	shortTask  = 4 * time.Microsecond
	timedEvery = 31
)

// pace decides which tasks of a kernel are timed, among those that run without the
// protocol. Only the goroutine of the program uses it.
type pace struct {
	untimed int           // number of tasks until one is timed again
	average time.Duration // moving average of the measured times
	last    time.Duration // the last measured time
}

func (p *pace) took(d time.Duration) {
	p.average, p.last = average(p.average, d), d
	if p.untimed = 0; p.average < shortTask && d < shortTask {
		p.untimed = timedEvery - 1
	}
}

// typical estimates the time of a task that was not timed. It returns the smaller value,
// because a timed task may have waited for a core.
func (p *pace) typical() time.Duration { return min(p.average, p.last) }

// exact reports whether something has to be recorded for each task.
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

// countShort adds the tasks of s that RunAlone has not timed to the statistics. signatureOf has
// set their traffic. The caller holds the lock.
func (h *sharing) countShort(s *Section) {
	h.workers[0].inside.short.Store(nil)
	var of *Kernel
	var k *known
	var spent time.Duration
	var seconds float64
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if t.counted {
			continue
		}
		if of != t.Kernel {
			of, k = t.Kernel, h.stats.of(t.Kernel)
			spent = k.pace.typical()
			seconds = spent.Seconds()
		}
		t.known = k
		h.stats.total.TasksRun++
		k.Run++
		k.Seconds += seconds
		k.ReadBytes += int64(t.read)
		k.WrittenBytes += int64(t.written)
		s.inBodies, s.ran = s.inBodies+spent, s.ran+1
	}
}
