package engine

import (
	"runtime/metrics"
	"time"

	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/timeline"
	"github.com/intrahpc/intra/transport/sdr"
	"github.com/intrahpc/intra/update"
)

// tracer records what this process does, for intrarun's -trace. A nil tracer records
// nothing. The process sends the events every 100 ms and at its end. So a process that is
// killed from outside loses the last events.
type tracer struct {
	recorder *timeline.Recorder
	start    time.Time       // time 0 of the engine's clock
	origin   int64           // start by the clock of the host, in nanoseconds
	places   timeline.Places // texts of sections; guarded by the lock of the node
}

func newTracer(setup job.Setup, start time.Time) *tracer {
	if !setup.Trace {
		return nil
	}
	return &tracer{recorder: timeline.NewRecorder(), start: start, origin: timeline.Moment(start)}
}

// now returns the time by the clock of the host. Reading that clock takes a system call,
// so the time is derived from the engine's clock.
func (t *tracer) now() int64 { return t.origin + int64(time.Since(t.start)) }

// add records an event that lasted from one moment of the engine's clock to another.
func (t *tracer) add(e timeline.Event, from, to time.Duration) {
	e.At, e.Lasted = t.origin+int64(from), int64(to-from)
	t.recorder.Add(e)
}

// section records a section. The caller holds the lock, as do the callers of wait and
// update.
func (t *tracer) section(s *Section, from, to time.Duration) {
	if t != nil {
		at := s.At
		if at == nil {
			at = new(callsite.Site) // the place is unknown
		}
		t.add(timeline.Event{Kind: timeline.Section, Number: s.Number, Place: t.places.Of(at)}, from, to)
	}
}

func (t *tracer) task(s *Section, task, worker int, from, to time.Duration) {
	if t != nil {
		t.add(timeline.Event{Kind: timeline.Task, Worker: int32(worker), Number: s.Number, Tag: int64(task), Name: s.Tasks[task].Kernel.Name}, from, to)
	}
}

func (t *tracer) wait(s *Section, task int, from, to time.Duration) {
	if t != nil {
		t.add(timeline.Event{Kind: timeline.Wait, Number: s.Number, Name: s.Tasks[task].Kernel.Name}, from, to)
	}
}

func (t *tracer) update(kind timeline.Kind, s *Section, task, peer int, at time.Duration) {
	if t != nil {
		l := &s.Tasks[task]
		t.add(timeline.Event{Kind: kind, Number: s.Number, Tag: int64(task), Name: l.Kernel.Name,
			Replica: int32(peer), Bytes: int64(update.Size(l.Regions))}, at, at)
	}
}

// traceUpdate records that an update is sent or received now.
func (h *sharing) traceUpdate(kind timeline.Kind, s *Section, task, peer int) {
	if h.trace != nil {
		h.trace.update(kind, s, task, peer, h.now())
	}
}

// since records e, which ends now. It began at from, an earlier result of now.
func (t *tracer) since(from int64, e timeline.Event) {
	e.At, e.Lasted = from, t.now()-from
	t.recorder.Add(e)
}

// begin begins an event that lasts until the result is called. t is not nil.
func (t *tracer) begin(e timeline.Event) (end func()) {
	from := t.now()
	return func() { t.since(from, e) }
}

// dead records that this process was informed of a death.
func (t *tracer) dead(p job.Process) {
	if t != nil {
		t.recorder.Add(timeline.Event{Kind: timeline.Verdict, At: t.now(), Rank: int32(p.Rank), Replica: int32(p.Replica)})
	}
}

// memory records how much memory this process uses.
func (t *tracer) memory(messages *sdr.Engine) {
	if t == nil {
		return
	}
	e := timeline.Event{Kind: timeline.Memory, At: t.now(), Bytes: timeline.Resident()}
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	if metrics.Read(heap); heap[0].Value.Kind() == metrics.KindUint64 {
		e.Number = heap[0].Value.Uint64()
	}
	if messages != nil {
		_, kept := messages.Retained()
		e.Context = uint64(kept)
	}
	t.recorder.Add(e)
}

// flush sends all events to the head.
func (t *tracer) flush(h Head) {
	if t != nil {
		t.recorder.Flush(h.Trace)
	}
}

// FlushTrace sends all recorded events to the head.
func (e *Engine) FlushTrace() { e.trace.flush(e.head) }

// messageTracer records what the program does with messages.
type messageTracer struct{ *tracer }

// observer returns the observer of messages, nil if there is no trace.
func (t *tracer) observer() sdr.Observer {
	if t == nil {
		return nil
	}
	return messageTracer{t}
}

// Called implements sdr.Observer.
func (t messageTracer) Called(rank, tag, bytes int) (end func()) {
	e := timeline.Event{Kind: timeline.Call, Rank: int32(rank), Tag: int64(tag), Bytes: int64(bytes)}
	e.Name, e.Place = t.recorder.CallInto("github.com/intrahpc/intra/comm.")
	return t.begin(e)
}

// Waited implements sdr.Observer.
func (t messageTracer) Waited() (end func()) { return t.begin(timeline.Event{Kind: timeline.Wait}) }

// Sent implements sdr.Observer.
func (t messageTracer) Sent(p sdr.Passage) { t.passage(timeline.Message, p) }

// Matched implements sdr.Observer.
func (t messageTracer) Matched(p sdr.Passage) { t.passage(timeline.Match, p) }

func (t messageTracer) passage(k timeline.Kind, p sdr.Passage) {
	e := timeline.Event{Kind: k, At: t.now(), Rank: int32(p.Rank), Replica: int32(p.Replica), Context: p.Context, Number: p.Number, Tag: int64(p.Tag), Bytes: int64(p.Bytes)}
	if p.Exact {
		e.Tag = timeline.None // in a collective the tag is an internal number
	}
	t.recorder.Add(e)
}
