package engine

import (
	"maps"
	"math/bits"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/base/counters"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/update"
)

// stats counts what a process does, for the report.
type stats struct {
	total job.Stats
	types map[*Kernel]*known
	last  *Kernel // last kernel looked up; found is its entry
	found *known
}

// known is the statistics of a type of task.
type known struct {
	job.TaskStats
	counted []counters.Count // in the order of the counters of the meter
	average time.Duration    // average time of a body that ran here, for claims
	pace    pace
	whole   pace                   // pace of sections whose first task is of this type, and that need no protocol
	times   map[int]*section.Times // by the size of the regions of a task, as a power of two
}

// timesOf returns the times of tasks of about the size of l.
func (k *known) timesOf(l *Task) *section.Times {
	size := 0
	for i := range l.Regions {
		size += len(l.Regions[i].Mem)
	}
	size = bits.Len(uint(size))
	t := k.times[size]
	if t == nil {
		if k.times == nil {
			k.times = make(map[int]*section.Times)
		}
		t = new(section.Times)
		k.times[size] = t
	}
	return t
}

func newStats() stats { return stats{types: make(map[*Kernel]*known)} }

func (s *stats) of(t *Kernel) *known {
	if s.last == t && t != nil {
		return s.found
	}
	k := s.types[t]
	if k == nil {
		k = &known{TaskStats: job.TaskStats{Decision: "share"}}
		s.types[t] = k
	}
	s.last, s.found = t, k
	return k
}

// ran records the time and the counters of a run of t.
func (s *stats) ran(t *Task, spent time.Duration, counted []counters.Count) {
	k := t.known
	s.total.TasksRun++
	k.Run++
	k.Seconds += spent.Seconds()
	read, written := update.Traffic(t.Regions)
	k.ReadBytes += int64(read)
	k.WrittenBytes += int64(written)
	if counted != nil && k.counted == nil {
		k.counted = make([]counters.Count, len(counted))
	}
	for i, c := range counted {
		k.counted[i].Add(c)
	}
}

// withCounters returns the statistics of a type of task, with its counters by name.
func (k *known) withCounters(all []counters.Counter) job.TaskStats {
	t := k.TaskStats
	for i, c := range k.counted {
		if c.Tasks > 0 {
			if t.Counters == nil {
				t.Counters = make(map[string]counters.Count)
			}
			t.Counters[all[i].Name] = c
		}
	}
	return t
}

func (s *stats) received(k *known, tasks int) {
	s.total.TasksReceived += int64(tasks)
	k.Received += int64(tasks)
}

func (s *stats) sent(k *known, bytes int) {
	s.total.UpdateBytes += int64(bytes)
	k.UpdateBytes += int64(bytes)
}

// waited records that this process has waited, since the time from, for the update of a
// task or for the handover of its own updates. The caller holds the lock.
func (h *sharing) waited(s *Section, task int, from time.Duration) {
	to := h.now()
	s.Tasks[task].known.WaitSeconds += (to - from).Seconds()
	h.trace.wait(s, task, from, to)
}

// completed records that s is complete, and returns the time. Sharing s began at from. The
// caller holds the lock.
func (h *sharing) completed(s *Section, from time.Duration) (to time.Duration) {
	to = h.now()
	if len(s.Tasks) > 0 {
		k := s.Tasks[0].known
		k.SectionSeconds += (to - from).Seconds()
		k.AloneSeconds += s.alone()
	}
	h.trace.section(s, from, to)
	return to
}

// alone returns the seconds that s, which is complete, would have taken this process
// alone. Each task counts with the average time of such tasks here: the time of a single
// task proves little, because the process may have waited for a core.
func (s *Section) alone() (seconds float64) {
	var of *known
	each := 0.0
	for i := range s.Tasks {
		if k := s.Tasks[i].known; k != of {
			of, each = k, k.Seconds/float64(max(k.Run, 1))
		}
		seconds += each
	}
	return seconds / float64(max(s.helpers.size, 1))
}

// Snapshot returns a copy of all counts, for the head.
func (h *sharing) Snapshot() job.Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.counts()
}

// lockPatience is longer than any goroutine holds the lock of an engine.
const lockPatience = 500 * time.Millisecond

// LastSnapshot is Snapshot at a kill point. The goroutine there may hold the lock itself: it
// sends a frame of the engine, and the link first continues with an earlier frame, in the middle
// of which the process is to die. Then no other goroutine changes the counts.
func (h *sharing) LastSnapshot() job.Stats {
	for end := h.now() + lockPatience; !h.mu.TryLock(); time.Sleep(time.Millisecond) {
		if h.now() > end {
			return h.counts()
		}
	}
	defer h.mu.Unlock()
	return h.counts()
}

// counts returns a copy of all counts. The caller holds the lock.
func (h *sharing) counts() job.Stats {
	out := h.stats.total
	out.Signature, out.Links = h.machine.Chain(), h.peerLinks.made.Load()
	out.Notes, out.Details = slices.Clone(h.notes.said), slices.Clone(h.notes.details)
	out.Flipped = h.flips.Fired()
	if v := h.verifier; v != nil {
		counts := v.counts
		counts.Blames = slices.Clone(v.counts.Blames)
		out.Corruption = &counts
	}
	out.Watched = h.watch.snapshot()
	out.Counters, out.Usage = h.meter.Counters(), counters.Used()
	out.TaskTypes = maps.Collect(func(yield func(string, job.TaskStats) bool) {
		for t, ts := range h.stats.types {
			if !yield(t.Name, ts.withCounters(out.Counters)) {
				return
			}
		}
	})
	return out
}
