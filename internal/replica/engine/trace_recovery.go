package engine

import (
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/timeline"
)

// point begins the event of a safe point. t is not nil.
func (t *tracer) point(number uint64) (end func()) {
	_, place := t.recorder.CallInto("github.com/intrahpc/intra.")
	return t.begin(timeline.Event{Kind: timeline.Point, Number: number, Place: place})
}

// stepNames are the names of the steps of a process in a safe point.
var stepNames = map[recovery.StepKind]string{
	recovery.Wait:     "wait for other processes",
	recovery.Drain:    "drain messages",
	recovery.Donate:   "copy state ahead",
	recovery.Transfer: "hand over state",
	recovery.Admit:    "admit",
	recovery.Copy:     "copy for the backup",
	recovery.Save:     "copy for the checkpoint",
	recovery.Leave:    "leave the cut",
	recovery.GiveUp:   "cancel the cut",
	recovery.Back:     "go back",
}

// traceStep begins the event of a step in a safe point. The caller holds the lock, and
// r.trace is not nil.
func (r *recovering) traceStep(s recovery.Step) (end func()) {
	e := timeline.Event{Kind: timeline.Cut, Name: stepNames[s.Kind]}
	switch {
	case r.program != nil:
		e.Number = r.program.points.Load()
	case r.startAt != nil:
		e.Number = r.startAt.Point
	}
	return r.trace.begin(e)
}

// traceJoin records the join of this process, from its start.
func (r *recovering) traceJoin() {
	if r.trace == nil {
		return
	}
	e := timeline.Event{Kind: timeline.Join}
	r.mu.Lock()
	if r.startAt != nil {
		e.Number = r.startAt.Point
	}
	r.mu.Unlock()
	r.trace.since(r.trace.origin, e)
}

// traceRollback begins the event of a rollback.
func (r *recovering) traceRollback() (end func()) {
	if r.trace == nil {
		return func() {}
	}
	from := r.trace.now()
	return func() {
		e := timeline.Event{Kind: timeline.Rollback}
		r.mu.Lock()
		if r.startAt != nil {
			e.Number = r.startAt.Point
		}
		r.mu.Unlock()
		r.trace.since(from, e)
	}
}

// traceAgain records a second run that has reached the point where the earlier run ended.
func (r *recovering) traceAgain(s *secondRun) {
	if r.trace != nil {
		r.trace.add(timeline.Event{Kind: timeline.Again, Number: s.from.number}, s.begun, r.now())
	}
}

// traceState begins the event of a state transfer to another process.
func (r *recovering) traceState(l transferID, to job.Process, bytes int) (end func()) {
	if r.trace == nil {
		return func() {}
	}
	e := timeline.Event{Kind: timeline.State, Rank: int32(to.Rank), Replica: int32(to.Replica), Number: l.number, Bytes: int64(bytes)}
	switch l.kind {
	case transferJoin:
		e.Name = "state for a joiner"
	case transferBackup:
		e.Name = "backup"
	case transferBack:
		e.Name = "state for a rollback"
	}
	return r.trace.begin(e)
}
