package head

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// queue passes events to recovery.Head, which decides how the job recovers, and has its
// actions carried out. It handles one event at a time. While a decision is being kept
// (keeping), rest holds the actions after it, and new events wait in events.
type queue struct {
	*desk
	decides *recovery.Head    // nil: lost processes are not replaced
	keeping bool              // a decision is being kept; until then nothing else happens
	rest    []recovery.Action // the actions that follow that decision; empty unless keeping
	acting  bool              // the actions of an event are being carried out
	// together means that recovery has received only some of the deaths of a host's processes.
	// The head draws no conclusion before recovery has received them all.
	together bool
	events   []event // events that wait for their turn

	carryOut func(recovery.Action) // carries out an action
	caughtUp func()                // checks whether the job is complete, called when no event waits
}

// event passes one event to recovery.Head when its turn has come.
type event func(d *recovery.Head, now time.Duration) []recovery.Action

// notify passes an event to recovery and carries out the resulting actions. It does so at
// once, after the decision that is being kept, or after the actions of the present event.
func (q *queue) notify(e event) {
	if q.decides == nil {
		return
	}
	q.events = append(q.events, e)
	q.catchUp()
}

// first queues an event before all others that wait. recovery receives it after the remaining
// actions of the kept decision.
func (q *queue) first(e event) { q.events = slices.Insert(q.events, 0, e) }

// happened passes on an event about m, which names the slot that m has now.
func (q *queue) happened(m *member, what func(d *recovery.Head, p job.Process, incarnation uint32, now time.Duration) []recovery.Action) {
	p, incarnation := m.process, m.incarnation
	q.notify(func(d *recovery.Head, now time.Duration) []recovery.Action { return what(d, p, incarnation, now) })
}

// replied passes on a reply of m, which names the slot that m has now.
func (q *queue) replied(m *member, r job.Reply) {
	p, incarnation := m.process, m.incarnation
	q.notify(func(d *recovery.Head, now time.Duration) []recovery.Action { return d.Reply(p, incarnation, r, now) })
}

// catchUp passes on the waiting events. After the last one it checks whether the job ends.
func (q *queue) catchUp() {
	for !q.keeping && !q.acting {
		if len(q.events) == 0 {
			if q.together {
				return
			}
			q.settle()
			q.caughtUp()
			return
		}
		e := q.events[0]
		q.events = q.events[1:]
		q.perform(e(q.decides, q.elapsed()))
	}
}

// perform carries out all actions before the next event. The actions after a decision wait
// until it is kept (resume).
func (q *queue) perform(acts []recovery.Action) {
	q.acting = true
	defer func() { q.acting = false }()
	for i, a := range acts {
		if a.Kind == recovery.Keep {
			q.keeping, q.rest = true, acts[i+1:]
			q.carryOut(a)
			return
		}
		q.carryOut(a)
	}
}

// resume continues with the actions and events that have waited for a decision.
func (q *queue) resume() {
	q.keeping = false
	rest := q.rest
	q.rest = nil
	q.perform(rest)
	q.catchUp()
}

// idle reports whether recovery has acted on all events.
func (q *queue) idle() bool { return !q.keeping && !q.acting && !q.together && len(q.events) == 0 }

// generation returns the number of rollbacks so far. counts reports whether the end of the
// program in m counts: while m rolls back, it does not.
func (q *queue) generation(m *member) (n uint32, counts bool) {
	if d := q.decides; d != nil {
		return d.Generation(), d.State(m.process) == recovery.Running
	}
	return 0, true
}

// mayGoBack reports whether the job rolls back, or a waiting event may cause a rollback.
func (q *queue) mayGoBack() bool {
	d := q.decides
	return d != nil && (d.Returning() || len(q.events) > 0)
}
