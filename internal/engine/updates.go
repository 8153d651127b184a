package engine

import (
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/section"
	"github.com/intrahpc/intra/internal/timeline"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// updates is the exchange by frames: the section machine says who runs which
// task, and who is sent its result.
type updates struct{ *sharing }

// forever is longer than any job.
const forever = 1 << 56 * time.Nanosecond

func (u *updates) enter(s *Section, signature uint64) error {
	e := section.Entry{
		Policy: s.Policy, Tasks: len(s.Tasks), Signature: signature,
		Patience: func(t int) time.Duration { return u.patience(&s.Tasks[t]) },
		Times:    func(t int) *section.Times { return s.Tasks[t].times },
	}
	if u.ownersOnly() { // nobody runs what another one has claimed
		e.Patience, e.Times = func(int) time.Duration { return forever }, nil
	}
	acts, err := u.machine.Enter(e, u.now())
	if err != nil {
		return err
	}
	return u.perform(s, acts)
}

func (u *updates) next(w *worker, s *Section) (step, error) {
	for {
		next, acts := u.machine.Next(u.now())
		w.frames(s, acts)
		switch {
		case next.Kind == section.Run && s.verifier.index(next.Task) < 0:
			return step{kind: runTask, task: next.Task}, nil
		case next.Kind == section.Run:
			u.ran(w, s, next.Task)
		case next.Kind == section.Wait:
			return step{kind: waitForPeer, until: next.Until}, nil
		default:
			return step{kind: allHere}, nil
		}
	}
}

// reserve borrows room from the link to a peer that will want the update. There
// is none for a task that cannot use it, nor where several workers run: what
// the others have to say would wait for the body. All frames before have been
// sent.
func (u *updates) reserve(w *worker, s *Section, t *Task) (fused func(second []byte)) {
	if len(u.workers) > 1 || s.Policy == sched.Replicate || t.bytes < large {
		return nil
	}
	for i := range t.Regions {
		if g := &t.Regions[i]; g.Fused != nil && len(g.Mem) == t.bytes {
			fused = g.Fused
		}
	}
	if fused == nil {
		return nil
	}
	u.mu.Lock()
	w.links = append(w.links[:0], u.peers...) // one may die meanwhile
	u.mu.Unlock()
	for _, link := range w.links {
		if lender, ok := link.(transport.Reserver); ok {
			if mem := lender.Reserve(t.bytes); mem != nil {
				w.lent = room{lender, mem}
				return fused
			}
		}
	}
	return nil
}

// large updates leave before anything else is done; the claim of the next
// task waits for nothing then. Small ones leave together with it.
const large = 4 << 10

func (u *updates) first(t *Task) bool { return t.bytes >= large }

func (u *updates) ran(w *worker, s *Section, task int) {
	if !s.verifier.both(task) {
		return
	}
	w.frames(s, u.machine.Ran(task))
	w.commit()
}

func (u *updates) adopted(_ *Section, task int) bool { return u.machine.Adopted(task) }

func (u *updates) missing() int { return u.machine.Missing() }

func (u *updates) leave(*Section) { u.machine.Leave() }

func (u *updates) describe() string { return u.machine.Describe() }

// frames adds the frames that the machine wants sent to w.out. They are sent
// without the lock, since a link may call back. The claim of a task that is
// started right after another one goes with the update of that.
func (w *worker) frames(s *Section, acts []section.Action) {
	h := w.sharing
	if len(acts) == 0 {
		return
	}
	now := h.now()
	for _, a := range acts {
		link := h.peers[a.Peer]
		if link == nil || a.Kind == section.Claim && w.claimWith(link, a.Task) {
			continue
		}
		m := update.Message{Kind: update.KindClaim, Section: s.Number, Task: a.Task,
			Tasks: len(s.Tasks), Signature: h.machine.Signature(), At: int64(now)}
		if a.Kind == section.Send {
			m.Kind = update.KindUpdate
		}
		f := h.outFrame(m)
		if a.Kind == section.Send {
			l := &s.Tasks[a.Task]
			f.Payload = update.Payload(f.Payload[:0], l.Regions)
			f.Droppable = true // the peer can run the task itself
			f.Mid = h.faults.Mid(job.KillUpdate)
			h.pending.Add(1)
			s.pending.Add(1)
			f.Owner.(*outFrame).section = s
			h.stats.sent(l.known, l.bytes)
			h.traceUpdate(timeline.Sent, s, a.Task, a.Peer)
		}
		w.out = append(w.out, outgoing{link: link, frame: f})
	}
}

// claimWith puts the claim of a task into the last update that has not left yet.
func (w *worker) claimWith(link transport.Link, task int) bool {
	for i := len(w.out) - 1; i >= 0; i-- {
		if o := &w.out[i]; o.link == link && update.Kind(o.frame.Header.Kind) == update.KindUpdate {
			update.Claim(&o.frame.Header, task)
			return true
		}
	}
	return false
}

// room is memory of a link in which a task's update is made.
type room struct {
	link transport.Reserver
	mem  []byte
}

// commit has the update that was made in the room that w has borrowed sent from
// there by the next flush, if its peer still wants it.
func (w *worker) commit() {
	for i := range w.out {
		if o := &w.out[i]; w.lent.link != nil && o.link == w.lent.link.(transport.Link) && update.Kind(o.frame.Header.Kind) == update.KindUpdate {
			o.room = w.lent.link
			w.lent = room{}
		}
	}
}

// cancel gives the room back unless it has been used.
func (r *room) cancel() {
	if r.link != nil {
		r.link.Cancel()
		*r = room{}
	}
}
