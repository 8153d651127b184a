package head

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// recovering is the head's part in recovery. It carries events to recovery.Head, which
// decides, and carries out its actions.
//
// One event is handled at a time. While a decision waits to be kept (keeping), rest holds
// the actions after it, and new events wait in events.
type recovering struct {
	decides *recovery.Head    // nil: lost processes are not replaced
	keeping bool              // a decision is being kept; nothing else happens before that
	rest    []recovery.Action // the actions after that decision
	acting  bool              // the actions of an event are being carried out
	// together: recovery has received some of the deaths of a host's processes. The head
	// draws no conclusion before it has received them all.
	together  bool
	events    []event          // that wait
	quiets    map[uint64]asked // questions for Quiet without an answer yet, by number
	number    uint64           // of the last question
	saved     saved
	refused   map[job.Process]string     // the last reason printed why a process could not be replaced
	safe      bool                       // a process has reached a safe point
	losses    []int                      // ranks that have lost all replicas since the last rollback
	lossAt    time.Duration              // when the first of them was lost, or when the dispute or blame began
	doubts    map[int]*doubt             // by rank
	offenders map[job.Endpoint]*offender // blamed processes, where replicas compare only a share of the tasks
	bytes     int64                      // copied for backups
	seconds   float64                    // the time that this has taken from a rank, on average
}

// asked is a process that was asked for Quiet, and why.
type asked struct {
	m     *member
	reply *job.Reply // the reply that waits for Quiet; nil: a successor waits for all repetitions
}

// saved is the position of each rank's output at the backup that is being taken.
type saved struct {
	number     uint64
	generation uint32
	outputs    []Position
}

// event is something that recovery.Head learns when it is its turn.
type event func(d *recovery.Head, now time.Duration) []recovery.Action

// plan returns the configuration of recovery.
func (h *Head) plan() recovery.Config {
	c := recovery.Config{Degrees: h.config.Degrees, Start: h.config.Replace, Spares: h.spares(), Backup: h.config.Backup,
		Host: func(p job.Process) string { return h.places[p].node.Name }}
	if v := h.config.Setup.Verify; v != nil {
		c.Compared, c.Suspect = v.State, v.Samples()
	}
	if f := h.state.Opened; f != nil {
		if f.Restart != nil {
			c.From = f.Restart.Cut
		}
		if f.Write != nil {
			c.Files = recovery.Files{Every: h.config.Checkpoint.Every, First: f.First}
		}
	}
	return c
}

// notify passes an event to recovery and carries out the actions: at once, or after the
// decision that is being kept, or after the actions of the present event.
func (h *Head) notify(e event) {
	if h.recovery.decides == nil {
		return
	}
	h.recovery.events = append(h.recovery.events, e)
	h.catchUp()
}

// happened passes on an event of the process that m is now.
func (h *Head) happened(m *member, what func(d *recovery.Head, p job.Process, incarnation uint32, now time.Duration) []recovery.Action) {
	p, incarnation := m.process, m.incarnation
	h.notify(func(d *recovery.Head, now time.Duration) []recovery.Action { return what(d, p, incarnation, now) })
}

// replied passes on a reply of the process that m is now.
func (h *Head) replied(m *member, r job.Reply) {
	p, incarnation := m.process, m.incarnation
	h.notify(func(d *recovery.Head, now time.Duration) []recovery.Action { return d.Reply(p, incarnation, r, now) })
}

// catchUp passes on the events that wait. After the last one it checks whether the job ends.
func (h *Head) catchUp() {
	r := &h.recovery
	for !r.keeping && !r.acting {
		if len(r.events) == 0 {
			if r.together {
				return
			}
			h.settle()
			h.releaseIfComplete()
			return
		}
		e := r.events[0]
		r.events = r.events[1:]
		h.perform(e(r.decides, h.elapsed()))
	}
}

// perform carries out all actions before the next event. The actions after a decision wait
// until that is kept.
func (h *Head) perform(acts []recovery.Action) {
	h.recovery.acting = true
	defer func() { h.recovery.acting = false }()
	for i, a := range acts {
		switch a.Kind {
		case recovery.Keep:
			h.recovery.keeping, h.recovery.rest = true, acts[i+1:]
			h.keep(*a.Decision)
			return
		case recovery.Start:
			h.wanted[a.To] = a.Incarnation
			h.fill(a.To)
		case recovery.Later:
			h.after(a.Pause, timer{kind: askAgain})
		case recovery.Send:
			if m := h.holder(a.To, a.Incarnation); m != nil && m.state.there() {
				h.order(m, a.Order)
			}
		case recovery.Connect:
			for _, p := range a.Peers {
				h.introduce(h.places[a.To], h.places[p])
			}
		case recovery.Dismiss:
			h.dismiss(a.To)
		case recovery.Publish:
			h.keepSet(a)
		case recovery.Abandon:
			h.abandonSet(a.Set, a.Why)
		case recovery.Lose:
			for _, p := range job.Processes(h.config.Degrees) {
				h.dismiss(p)
			}
			h.beyond(a.Loss)
		}
	}
}

// keep adds a decision to those that a successor will know. It fills in the facts that
// package recovery does not know: the positions of output, and the ranks that a rollback is
// for.
func (h *Head) keep(d recovery.Decision) {
	e := decision.Entry{Kind: decision.Recovery, Recovery: &d}
	switch d.Kind {
	case recovery.Admitted:
		d.Joined = slices.Clone(d.Joined)
		for i := range d.Joined {
			d.Joined[i].Output = h.places[d.Joined[i].Donor].stood
		}
	case recovery.Complete:
		if s := &h.recovery.saved; s.number == d.Number {
			d.Outputs = encode(s.outputs)
		}
	case recovery.RolledBack:
		e.Ranks, e.Since = slices.Sorted(slices.Values(h.recovery.losses)), h.recovery.lossAt
	}
	h.propose(e)
}

// kept acts on a decision that has been kept, and then continues with the waiting actions
// and events.
func (h *Head) kept(e decision.Entry) {
	d := e.Recovery
	if d.Kind == recovery.RolledBack && h.undescribedAnywhere() {
		return // the job ends instead
	}
	switch d.Kind {
	case recovery.Admitted:
		for _, j := range d.Joined {
			m := h.holder(j.Process, j.Incarnation)
			if h.live(m); m.state == running {
				h.act(Resume{m.from, j.Output, d.Generation, false})
				h.sayReplaced(m)
			}
		}
	case recovery.Complete:
		if h.state.Backups == 1 {
			h.detailf("the first backup is complete: safe point %d", d.Number)
		}
		h.doubtedStill()
	case recovery.RolledBack:
		h.warnf("the job goes back to safe point %d", d.Number)
		for _, j := range d.Joined {
			m := h.holder(j.Process, j.Incarnation)
			if h.live(m); m.state == running {
				h.sayReplaced(m)
			}
		}
		for _, m := range h.all {
			m.done = false
			if m.role == First && m.state.there() {
				if m.state == finished {
					m.to(running)
				}
				m.final, m.muted = false, true
				h.act(Mute{m.from})
			}
		}
	case recovery.Resumed:
		h.recovery.losses, h.recovery.lossAt = nil, 0
	}
	h.recovery.keeping = false
	rest := h.recovery.rest
	h.recovery.rest = nil
	h.perform(rest)
	h.catchUp()
}

// live makes a joiner live: it has its state from here on. It may have died since.
func (h *Head) live(m *member) {
	if m.role = First; m.state == arriving {
		m.to(running)
	}
}

// order sends an order to a process. For the backup of a cut it also records the positions
// of output.
func (h *Head) order(m *member, o job.Order) {
	if s := &h.recovery.saved; o.Kind == job.OrderGo && o.Plan != nil && (s.number != o.Number || s.generation != o.Generation) {
		*s = saved{number: o.Number, generation: o.Generation}
		for _, c := range o.Plan {
			s.outputs = append(s.outputs, h.places[c.Source].stood)
		}
	}
	h.send(m, &job.Message{Kind: job.KindOrder, Order: &o})
}

// reply handles a reply about recovery. Recovery receives the reply of a process that has
// stopped only after all earlier output of the process has been taken (Quiet): the position
// of its output is then that of its state.
func (h *Head) reply(m *member, r job.Reply) {
	if r.Kind == job.ReplyDrained && h.divergedBefore(m, &r) {
		return
	}
	switch r.Kind {
	case job.ReplyDrained, job.ReplyJoined, job.ReplyReady:
		h.askQuiet(asked{m, &r})
		return
	case job.ReplyFirst:
		h.recovery.safe = true
	case job.ReplyStored:
		if r.Bytes > 0 {
			h.recovery.bytes += r.Bytes
			h.recovery.seconds += r.Seconds / float64(len(h.config.Degrees))
		}
	}
	h.replied(m, r)
}

func (h *Head) askQuiet(a asked) {
	r := &h.recovery
	r.number++
	if r.quiets == nil {
		r.quiets = make(map[uint64]asked)
	}
	r.quiets[r.number] = a
	h.act(AskQuiet{a.m.from, r.number})
}

// quiet handles the answer to AskQuiet, and passes on what has waited for it.
func (h *Head) quiet(m *member, e Quiet) {
	a, ok := h.recovery.quiets[e.Number]
	if delete(h.recovery.quiets, e.Number); !ok || !m.state.there() {
		return
	}
	if a.reply == nil {
		h.happened(m, (*recovery.Head).Repeated)
		return
	}
	switch r := *a.reply; r.Kind {
	case job.ReplyDrained:
		m.stood = e.Position
	case job.ReplyReady:
		if m.muted && r.Generation == h.recovery.decides.Generation() { // else it rolled back under an earlier head
			m.muted = false
			h.act(Resume{m.from, h.backupOutput(m.process.Rank), r.Generation, h.reprints(r.Generation)})
		}
	}
	h.replied(m, *a.reply)
}

// backupOutput returns the position of a rank's output at the last backup.
func (h *Head) backupOutput(rank int) Position {
	var all []Position
	if len(h.state.Recovery.Outputs) == 0 || json.Unmarshal(h.state.Recovery.Outputs, &all) != nil || rank >= len(all) {
		return nil
	}
	return all[rank]
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("head: " + err.Error()) // Positions are JSON
	}
	return b
}

// died passes a death on to recovery.
func (h *Head) died(m *member) {
	if h.recovery.decides == nil || h.phase > working {
		return
	}
	lost := h.lostRank(m)
	if lost {
		h.unfill()
	}
	byItself := itself(m.verdict.Cause)
	if m.verdict.Cause == job.CauseHost { // other processes may have died with it
		h.happened(m, func(d *recovery.Head, p job.Process, incarnation uint32, now time.Duration) []recovery.Action {
			h.recovery.together = true
			return d.DiedWith(p, incarnation, byItself, now)
		})
	} else {
		h.happened(m, func(d *recovery.Head, p job.Process, incarnation uint32, now time.Duration) []recovery.Action {
			return d.Died(p, incarnation, byItself, now)
		})
	}
	if lost {
		h.sayLost(m)
	}
}

// sayLost warns the user that the job will roll back, if that death causes it.
func (h *Head) sayLost(m *member) {
	if rank := m.process.Rank; h.recovery.decides != nil && h.outcome == nil && h.phase <= working && m.role == First && h.alive(rank) == 0 && !h.state.Drained[rank] {
		h.warnf("rank %d has lost its last replica %v: the job will go back to its last backup once a replacement has started", rank, m.process)
	}
}

// lostRank records the loss of a rank if m was its last replica. It reports whether the
// loss is new.
func (h *Head) lostRank(m *member) bool {
	rank, r := m.process.Rank, &h.recovery
	if h.outcome != nil || h.alive(rank) > 0 || h.state.Drained[rank] || slices.Contains(r.losses, rank) {
		return false
	}
	if r.losses = append(r.losses, rank); len(r.losses) == 1 {
		r.lossAt = m.verdict.At
	}
	return true
}

// generation returns the number of rollbacks so far. counts reports whether the end of the
// program in m counts: it does not while m rolls back.
func (h *Head) generation(m *member) (n uint32, counts bool) {
	if d := h.recovery.decides; d != nil {
		return d.Generation(), d.State(m.process) == recovery.Running
	}
	return 0, true
}

// expendable returns the process whose death the job can survive by a rollback, where p and
// q are each the last one of their ranks. It prefers the higher one, and returns nil if the
// job survives neither death.
func (h *Head) expendable(p, q *member) *member {
	if h.recovery.decides == nil || h.recovery.keeping || p.process.Rank == q.process.Rank {
		return nil
	}
	if p.process.Compare(q.process) < 0 {
		p, q = q, p
	}
	for _, m := range []*member{p, q} {
		if h.recovery.decides.Returns(m.process) {
			return m
		}
	}
	return nil
}

// sayReplaced tells the user about a joiner that has received its state.
func (h *Head) sayReplaced(m *member) {
	for _, r := range h.state.Replaced {
		if r.Process == m.process && r.Incarnation == m.incarnation {
			delete(h.recovery.refused, m.process)
			h.warnf("%v is replaced by another process on %s: it joined at safe point %d with the state of %v (%.1f MB), %.3f s after the death",
				m.process, m.node.Name, r.Number, r.Donor, float64(r.Bytes)/1e6, (r.At - h.diedAt(r)).Round(time.Millisecond).Seconds())
		}
	}
}

// diedAt returns when the process was declared dead that r has replaced.
func (h *Head) diedAt(r decision.Replaced) (at time.Duration) {
	for _, v := range h.state.Verdicts {
		if v.Process == r.Process && v.Incarnation < r.Incarnation && !v.Withdrawn {
			at = v.At
		}
	}
	return at
}
