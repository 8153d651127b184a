package intra

import (
	"maps"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// stats counts what a process does, for the report.
type stats struct {
	total job.Stats
	types map[*Task]*job.TaskStats
}

func newStats() stats { return stats{types: make(map[*Task]*job.TaskStats)} }

func (s *stats) of(t *Task) *job.TaskStats {
	ts := s.types[t]
	if ts == nil {
		ts = &job.TaskStats{Decision: "share"}
		s.types[t] = ts
	}
	return ts
}

func (s *stats) ran(t *Task, spent time.Duration) {
	s.total.TasksRun++
	ts := s.of(t)
	ts.Run++
	ts.Seconds += spent.Seconds()
}

func (s *stats) received(t *Task) {
	s.total.TasksReceived++
	s.of(t).Received++
}

func (s *stats) sent(t *Task, bytes int) {
	s.total.UpdateBytes += int64(bytes)
	s.of(t).UpdateBytes += int64(bytes)
}

// waited notes, under the lock, that this process has waited since from for
// the update of a task, or to be rid of its own ones.
func (e *engine) waited(s *Section, task int, from time.Duration) {
	to := e.now()
	e.stats.of(s.tasks[task].task).WaitSeconds += (to - from).Seconds()
	e.trace.wait(s, task, from, to)
}

// completed notes, under the lock, that s is complete, which began to be
// shared at from.
func (e *engine) completed(s *Section, from time.Duration) {
	to := e.now()
	if len(s.tasks) > 0 {
		e.stats.of(s.tasks[0].task).SectionSeconds += (to - from).Seconds()
	}
	e.trace.section(s, from, to)
}

// snapshot returns a copy for the head.
func (e *engine) snapshot() job.Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.stats.total
	out.Signature = e.machine.Chain()
	out.TaskTypes = maps.Collect(func(yield func(string, job.TaskStats) bool) {
		for t, ts := range e.stats.types {
			if !yield(t.name, *ts) {
				return
			}
		}
	})
	return out
}
