package recovery

import (
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// Resume returns the Head of a job that has lost its head, and the actions to take at
// once. Config.Spares is the number of spares at present.
//
// Agents repeat the replies of their processes to the successor, and discard orders that a
// process has already received (see package agentlog). Repeated reports the end of the
// repetition. The driver calls Arrived again for joiners that have arrived.
//
// Resume abandons a backup that was being stored. It abandons a set of files if one of its
// writers has died, since that writer's report may be lost with the head. A rollback under
// way starts over, in a new generation.
func Resume(c Config, p Snapshot, now time.Duration) (*Head, []Action) {
	h := NewHead(c)
	h.begin(now)
	h.incarnations, h.generation, h.round, h.pace.failures = max(1, p.Incarnations), p.Generation, p.Round, p.Failures
	h.rest, h.backups.voidBy = p.Rest, p.Last
	for rank := range p.Through {
		h.replicas.through[rank] = true
	}
	for _, s := range h.replicas.slots {
		if _, known := p.Places[s.process]; known || s.status != empty { // else it is vacant, and that is not kept yet
			s.resume(p.place(s.process), p.Cut > 0 || c.From > 0)
		}
	}
	h.resumeReliefs(&p)
	if p.Cut > 0 {
		h.backupAt, h.filesAt, h.sets.set = p.Backup, p.Files, p.NextSet
		h.next, h.backups.entire = earlier(h.backupAt, h.filesAt), p.Entire
		h.backups.unlike = p.Unlike
		h.pace.rate.left(p.Cut, h.now)
	}
	if p.Complete > 0 {
		h.backups.complete = h.backups.withoutHolders(Generation{p.Complete, p.Trusted}, p.Taken)
	}
	for _, old := range p.Older {
		h.backups.older = append(h.backups.older, h.backups.withoutHolders(old.Generation, old.Taken))
	}
	h.sets.resumeFiles(&p)
	switch {
	case p.Rolling:
		h.back = rollback{phase: replacing, Reason: p.Reason, number: p.Complete, begun: true}
		h.fail()
	case len(h.replicas.Failed()) > 0:
		h.failure(true)
	default:
		h.resumeCut(&p)
	}
	return h, h.advance()
}

// resume sets a replica to its state in the Snapshot.
func (s *replica) resume(at Place, safe bool) {
	*s = replica{process: s.process, incarnation: at.Incarnation, frames: at.Incarnation, attempts: at.Attempts, itself: at.Itself}
	switch at.Status {
	case Joining:
		s.status = starting
		s.link()
	case Lives, Ended:
		s.status, s.safe, s.repeating = live, safe, true
		s.to(Running)
		if at.Status == Ended {
			s.status = finished
			s.to(Finish)
		}
	}
}

// resumeCut continues the cut under way, if there is one. It repeats the orders that some
// processes may not have received. It sends the order to leave the previous cut before it
// cancels further cuts, because a process may still wait in the previous one.
func (h *Head) resumeCut(p *Snapshot) {
	if h.backups.complete != nil {
		h.replicas.tell(live, job.Order{Kind: job.OrderComplete, Number: h.backups.complete.number, Older: numbers(h.backups.older)})
	}
	for _, o := range p.Orders {
		if o.Kind == job.OrderGo && p.At == o.Number {
			o.Set, o.Savers = p.Set, p.savers()
		}
		h.replicas.tell(live, o)
	}
	switch {
	case h.rest:
		h.cease()
	case p.Admitting:
		h.cut = cut{phase: admitting, number: p.CutAt}
	case p.CutAt > 0:
		h.cut = cut{phase: draining, number: p.CutAt}
	case p.Asking:
		h.cut = cut{phase: asking}
	}
}
