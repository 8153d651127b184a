package engine

import (
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/update"
)

// traceEvents bounds what is kept between two hand-overs to the head. What
// comes on top is counted and lost.
const traceEvents = 1 << 16

// tracer records what this process does, for intrarun's -trace. All methods
// of a nil tracer do nothing. Its owner hands the events over every 100 ms
// and at its end, so a process that is killed from outside loses the last of
// them.
type tracer struct {
	origin int64 // of the engine's clock, in nanoseconds since 1970

	mu     sync.Mutex
	events []job.TraceEvent
	spare  []job.TraceEvent
	lost   int64

	handing sync.Mutex
}

func newTracer(setup job.Setup, start time.Time) *tracer {
	if !setup.Trace {
		return nil
	}
	return &tracer{origin: start.UnixNano()}
}

func (t *tracer) add(e job.TraceEvent, from, to time.Duration) {
	e.At, e.Lasted = t.origin+int64(from), int64(to-from)
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.events) >= traceEvents {
		t.lost++
		return
	}
	t.events = append(t.events, e)
}

func (t *tracer) section(s *Section, from, to time.Duration) {
	if t != nil {
		t.add(job.TraceEvent{Kind: job.TraceSection, Section: s.Number}, from, to)
	}
}

func (t *tracer) task(s *Section, task, worker int, from, to time.Duration) {
	if t != nil {
		t.add(job.TraceEvent{Kind: job.TraceTask, Worker: worker, Section: s.Number, Task: task, Name: s.Tasks[task].Kernel.Name}, from, to)
	}
}

func (t *tracer) wait(s *Section, task int, from, to time.Duration) {
	if t != nil {
		t.add(job.TraceEvent{Kind: job.TraceWait, Section: s.Number, Task: task, Name: s.Tasks[task].Kernel.Name}, from, to)
	}
}

func (t *tracer) update(kind job.TraceKind, s *Section, task, peer int, at time.Duration) {
	if t != nil {
		l := &s.Tasks[task]
		t.add(job.TraceEvent{Kind: kind, Section: s.Number, Task: task, Name: l.Kernel.Name,
			Peer: peer, Bytes: int64(update.Size(l.Regions))}, at, at)
	}
}

// traceUpdate notes that an update is sent or received now.
func (h *sharing) traceUpdate(kind job.TraceKind, s *Section, task, peer int) {
	if h.trace != nil {
		h.trace.update(kind, s, task, peer, h.now())
	}
}

// flush hands all events to the head.
func (t *tracer) flush(h Head) {
	if t == nil {
		return
	}
	t.handing.Lock()
	defer t.handing.Unlock()
	t.mu.Lock()
	events, lost := t.events, t.lost
	t.events, t.spare, t.lost = t.spare[:0], nil, 0
	t.mu.Unlock()
	if lost > 0 {
		events = append(events, job.TraceEvent{Kind: job.TraceOverflow, At: events[len(events)-1].At, Bytes: lost})
	}
	if len(events) > 0 {
		h.Trace(events)
	}
	t.mu.Lock()
	t.spare = events
	t.mu.Unlock()
}

// FlushTrace hands all events that were recorded to the head.
func (e *Engine) FlushTrace() { e.trace.flush(e.head) }
