package head

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// queue passes events to recovery.Head, which decides how the job recovers, and has its
// actions carried out. It handles one event at a time: while a decision waits to be kept
// (keeping), rest holds the actions after it, and new events wait in events.
type queue struct {
	*desk
	decides *recovery.Head    // nil: lost processes are not replaced
	keeping bool              // a decision is being kept; nothing else happens before that
	rest    []recovery.Action // the actions after that decision; empty unless keeping
	acting  bool              // the actions of an event are being carried out
	// together: recovery has received some of the deaths of a host's processes. The head
	// draws no conclusion before it has received them all.
	together bool
	events   []event // that wait

	carryOut func(recovery.Action) // carries out an action
	caughtUp func()                // checks whether the job is complete, since no event waits
}

// event is something that recovery.Head learns when it is its turn.
type event func(d *recovery.Head, now time.Duration) []recovery.Action

// notify passes an event to recovery and carries out the actions: at once, or after the
// decision that is being kept, or after the actions of the present event.
func (q *queue) notify(e event) {
	if q.decides == nil {
		return
	}
	q.events = append(q.events, e)
	q.catchUp()
}

// first passes an event to recovery before all others that wait, once the actions after the
// decision that has been kept are carried out.
func (q *queue) first(e event) { q.events = slices.Insert(q.events, 0, e) }

// happened passes on an event of the process that m is now.
func (q *queue) happened(m *member, what func(d *recovery.Head, p job.Process, incarnation uint32, now time.Duration) []recovery.Action) {
	p, incarnation := m.process, m.incarnation
	q.notify(func(d *recovery.Head, now time.Duration) []recovery.Action { return what(d, p, incarnation, now) })
}

// replied passes on a reply of the process that m is now.
func (q *queue) replied(m *member, r job.Reply) {
	p, incarnation := m.process, m.incarnation
	q.notify(func(d *recovery.Head, now time.Duration) []recovery.Action { return d.Reply(p, incarnation, r, now) })
}

// catchUp passes on the events that wait. After the last one it checks whether the job ends.
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
// until that is kept (resume).
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

// generation returns the number of rollbacks so far. counts reports whether the end of the
// program in m counts: it does not while m rolls back.
func (q *queue) generation(m *member) (n uint32, counts bool) {
	if d := q.decides; d != nil {
		return d.Generation(), d.State(m.process) == recovery.Running
	}
	return 0, true
}

// mayGoBack reports whether the job rolls back, or an event waits that may cause that.
func (q *queue) mayGoBack() bool {
	d := q.decides
	return d != nil && (d.Returning() || len(q.events) > 0)
}
