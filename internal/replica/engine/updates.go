package engine

import (
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/internal/timeline"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// updates is the exchange that sends results in frames. The section machine decides which
// replica runs which task, and to which replicas its result is sent.
type updates struct{ *sharing }

// forever is longer than any job.
const forever = 1 << 56 * time.Nanosecond

func (u *updates) enter(s *Section, signature uint64) error {
	e := section.Entry{
		Policy: s.Policy, Tasks: len(s.Tasks), Signature: signature,
		Patience: func(t int) time.Duration { return u.patience(&s.Tasks[t]) },
		Times:    func(t int) *section.Times { return s.Tasks[t].times },
	}
	if u.ownersOnly() { // no replica runs a task that another replica has claimed
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
		now := u.now()
		next, acts := u.machine.Next(now)
		w.frames(s, acts, now)
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

func (u *updates) along(*worker, *Section, *Task) func() { return nil }

// large is the least size of an update that is sent before anything else is done; the claim of
// the next task is then sent separately. A smaller update is sent together with that claim.
const large = 4 << 10

func (u *updates) first(t *Task) bool { return t.bytes >= large }

func (u *updates) binding() bool { return false }

func (u *updates) ran(w *worker, s *Section, task int) {
	if !s.verifier.both(task) {
		return
	}
	if acts := u.machine.Ran(task); len(acts) > 0 {
		w.frames(s, acts, u.now())
	}
}

func (u *updates) adopted(_ *Section, task int) bool { return u.machine.Adopted(task) }

func (u *updates) missing() int { return u.machine.Missing() }

func (u *updates) leave(*Section) { u.machine.Leave() }

func (u *updates) describe() string { return u.machine.Describe() }

// frames adds the frames that the machine orders to w.out. They are sent later, without
// the lock, because a link may call back. If a task starts right after another one, its claim is
// part of the update of the earlier task. now is the time at which the machine ordered them.
func (w *worker) frames(s *Section, acts []section.Action, now time.Duration) {
	h := w.sharing
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
			o := f.Owner.(*outFrame)
			o.section, o.timed = s, l.bytes >= measurable
			h.stats.sent(l.known, l.bytes)
			h.traceUpdate(timeline.Sent, s, a.Task, a.Peer)
		}
		w.out = append(w.out, outgoing{link: link, frame: f})
	}
}

// claimWith adds the claim of a task to the last unsent update for a link. It reports
// whether there is one.
func (w *worker) claimWith(link transport.Link, task int) bool {
	for i := len(w.out) - 1; i >= 0; i-- {
		if o := &w.out[i]; o.link == link && update.Kind(o.frame.Header.Kind) == update.KindUpdate {
			update.Claim(&o.frame.Header, task)
			return true
		}
	}
	return false
}
