package head

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// plan carries out the decisions of recovery about cuts, the positions of output in them,
// backups, rollbacks and checkpoint files.
type plan struct {
	*desk
	hosts    *hosts
	recovery *queue
	members  *members

	quiets     map[uint64]asked // unanswered AskQuiet requests, by number
	number     uint64           // number of the last request
	saved      saved
	safe       bool          // a process has reached a safe point
	losses     []int         // ranks that have lost all replicas since the last rollback
	lossAt     time.Duration // when the first of them was lost, or the dispute or blame began
	publishing int           // sets of files that are being made complete

	bytes   int64   // bytes copied for backups
	seconds float64 // average time that the copies have cost a rank
}

// asked is a process from which Quiet was requested, and the reason.
type asked struct {
	m     *member
	reply *job.Reply // the reply that waits for Quiet; nil: a successor waits for all repeated messages
}

// saved is the position of each rank's output at the backup that is being taken.
type saved struct {
	number     uint64
	generation uint32
	outputs    []Position
}

// carryOut carries out an action of recovery.
func (pl *plan) carryOut(a recovery.Action) {
	switch a.Kind {
	case recovery.Keep:
		pl.keep(*a.Decision)
	case recovery.Start:
		pl.members.wanted[a.To] = a.Incarnation
		pl.members.fill(a.To)
	case recovery.Relieve:
		pl.members.relieve(a.To, a.Incarnation)
	case recovery.Later:
		pl.after(a.Pause, timer{kind: askAgain})
	case recovery.Send:
		if m := pl.members.holder(a.To, a.Incarnation); m != nil && m.state.there() {
			pl.order(m, a.Order)
		}
	case recovery.Connect:
		for _, p := range a.Peers {
			pl.members.introduce(pl.members.holder(a.To, a.Incarnation), pl.members.holder(p.Process, p.Incarnation))
		}
	case recovery.Dismiss:
		pl.members.dismiss(a.To, a.Incarnation)
	case recovery.Publish:
		pl.keepSet(a)
	case recovery.Abandon:
		pl.abandonSet(a.Set, a.Why)
	case recovery.Lose:
		for p, incarnation := range maps.Clone(pl.members.wanted) {
			pl.members.dismiss(p, incarnation)
		}
		for _, m := range pl.members.all {
			pl.members.dismiss(m.process, m.incarnation)
		}
		pl.beyond(a.Loss)
	}
}

// keep proposes a decision of recovery, so that a successor will know it. It fills in the
// facts that package recovery does not know: the positions of output, and the ranks for which
// the job rolls back.
func (pl *plan) keep(d recovery.Decision) {
	e := decision.Entry{Kind: decision.Recovery, Recovery: &d}
	switch d.Kind {
	case recovery.Admitted:
		d.Joined = slices.Clone(d.Joined)
		for i := range d.Joined {
			d.Joined[i].Output = pl.members.places[d.Joined[i].Donor].stood
		}
	case recovery.Complete:
		if s := &pl.saved; s.number == d.Number {
			d.Outputs = encode(s.outputs)
		}
	case recovery.RolledBack:
		e.Ranks, e.Since = slices.Sorted(slices.Values(pl.losses)), pl.lossAt
	}
	pl.propose(e)
}

// kept acts on a decision that has been kept, and then continues with the waiting actions
// and events.
func (pl *plan) kept(e decision.Entry) {
	d := e.Recovery
	switch d.Kind {
	case recovery.Admitted:
		pl.admitted(d)
	case recovery.Complete:
		if pl.state.Backups == 1 {
			pl.detailf("the first backup is complete: safe point %d", d.Number)
		}
	case recovery.RolledBack:
		pl.warnf("the job rolls back to safe point %d", d.Number)
		for _, j := range d.Joined {
			m := pl.members.holder(j.Process, j.Incarnation)
			if pl.members.live(m); m.state == running {
				pl.sayReplaced(m)
			}
		}
		for _, m := range pl.members.all {
			m.done = false
			if m.role == First && m.state.there() {
				if m.state == finished {
					m.to(running)
				}
				m.final, m.muted = false, true
				pl.act(Mute{m.from})
			}
		}
	case recovery.Resumed:
		pl.losses, pl.lossAt = nil, 0
	}
	pl.recovery.resume()
}

// admitted makes joiners live. A joiner that relieves a process may already be dead; then the
// relieved process continues. admitted reports such joiners to recovery, and the processes that
// were to leave their ranks and stay after all.
func (pl *plan) admitted(d *recovery.Decision) {
	var void []job.Endpoint
	relieves := false
	for _, j := range d.Joined {
		m := pl.members.holder(j.Process, j.Incarnation)
		if relieves = relieves || j.Relieves; pl.state.Places[j.Process].Incarnation != j.Incarnation {
			void = append(void, m.endpoint())
			continue
		}
		if pl.members.live(m); m.state == running {
			pl.act(Resume{m.from, j.Output, d.Generation, false})
			pl.sayReplaced(m)
		}
	}
	for _, e := range d.Departed {
		m := pl.members.holder(e.Process, e.Incarnation)
		if !pl.state.Departs(e) {
			void = append(void, e)
			continue
		}
		rank := e.Process.Rank
		pl.warnf("%v is let go on %s at safe point %d, %d of %d replicas of rank %d left", e.Process, m.node.Name, d.Number, pl.members.alive(rank), pl.config.Degrees[rank], rank)
	}
	if len(d.Departed) > 0 { // other ranks may have their slots
		pl.recovery.first(func(d *recovery.Head, now time.Duration) []recovery.Action { return d.Room(now) })
	}
	if relieves || len(d.Departed) > 0 {
		pl.recovery.first(func(d *recovery.Head, now time.Duration) []recovery.Action { return d.Admitted(void, now) })
	}
}

// order sends an order to a process. If the order asks for a backup, order also records the
// position of its output.
func (pl *plan) order(m *member, o job.Order) {
	if s := &pl.saved; o.Kind == job.OrderGo && o.Plan != nil && (s.number != o.Number || s.generation != o.Generation) {
		*s = saved{number: o.Number, generation: o.Generation}
		for _, c := range o.Plan {
			s.outputs = append(s.outputs, pl.members.places[c.Source].stood)
		}
	}
	pl.send(m, &job.Message{Kind: job.KindOrder, Order: &o})
}

// reply handles a reply about recovery. If the process has stopped, the reply waits until all
// its earlier output has been taken (Quiet). So the position of its output is the one that
// belongs to its state.
func (pl *plan) reply(m *member, r job.Reply) {
	switch r.Kind {
	case job.ReplyDrained, job.ReplyJoined, job.ReplyReady:
		pl.askQuiet(asked{m, &r})
		return
	case job.ReplyFirst:
		pl.safe = true
	case job.ReplyStored:
		if r.Bytes > 0 {
			pl.bytes += r.Bytes
			pl.seconds += r.Seconds / float64(len(pl.config.Degrees))
		}
	}
	pl.recovery.replied(m, r)
}

// alone handles a reply of a process that may run again alone. The reply needs the position of its
// output. Recovery is not involved: to the other processes nothing has changed.
func (pl *plan) alone(m *member, r job.Reply) {
	if r.Kind == job.ReplyAgain {
		pl.detailf("%s runs again from safe point %d, alone", m.name(), r.Number)
	}
	pl.askQuiet(asked{m, &r})
}

func (pl *plan) askQuiet(a asked) {
	pl.number++
	pl.quiets[pl.number] = a
	pl.act(AskQuiet{a.m.from, pl.number})
}

// quiet handles the answer to AskQuiet, and passes on the reply that has waited for it.
func (pl *plan) quiet(m *member, e Quiet) {
	a, ok := pl.quiets[e.Number]
	if delete(pl.quiets, e.Number); !ok || !m.state.there() {
		return
	}
	if a.reply == nil {
		pl.recovery.happened(m, (*recovery.Head).Repeated)
		return
	}
	switch r := *a.reply; r.Kind {
	case job.ReplySettled:
		pl.order(m, job.Order{Kind: job.OrderSettled, Number: r.Number, Output: json.RawMessage(e.Position)})
		return
	case job.ReplyAgain:
		if !m.muted && len(r.Output) > 0 { // else the job rolls back, or has no output
			pl.act(Resume{m.from, Position(r.Output), r.Generation, false})
		}
		pl.order(m, job.Order{Kind: job.OrderAgain, Number: r.Number})
		return
	case job.ReplyDrained:
		m.stood = e.Position
	case job.ReplyReady:
		if m.muted && r.Generation == pl.recovery.decides.Generation() { // otherwise it rolled back under an earlier head
			m.muted = false
			pl.act(Resume{m.from, pl.backupOutput(m.process.Rank), r.Generation, pl.reprints(r.Generation)})
		}
	}
	pl.recovery.replied(m, *a.reply)
}

// backupOutput returns the position of a rank's output at the last backup.
func (pl *plan) backupOutput(rank int) Position {
	var all []Position
	if len(pl.state.Recovery.Outputs) == 0 || json.Unmarshal(pl.state.Recovery.Outputs, &all) != nil || rank >= len(all) {
		return nil
	}
	return all[rank]
}

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("head: " + err.Error()) // a Position is JSON, so this cannot fail
	}
	return b
}

// died passes a death on to recovery.
func (pl *plan) died(m *member) {
	if pl.recovery.decides == nil || pl.phase > working {
		return
	}
	lost := pl.lost(m.process.Rank, m.verdict.At)
	if lost { // withdraw requests for other slots: the lost rank needs the last spare more
		for _, p := range job.Processes(pl.config.Degrees) {
			pl.members.cancelRequest(p)
		}
	}
	byItself := itself(m.verdict.Cause)
	if m.verdict.Cause == job.CauseHost { // other processes may have died with the same host
		pl.recovery.happened(m, func(d *recovery.Head, p job.Process, incarnation uint32, now time.Duration) []recovery.Action {
			pl.recovery.together = true
			return d.DiedWith(p, incarnation, byItself, now)
		})
	} else {
		pl.recovery.happened(m, func(d *recovery.Head, p job.Process, incarnation uint32, now time.Duration) []recovery.Action {
			return d.Died(p, incarnation, byItself, now)
		})
	}
	if lost {
		pl.sayLost(m)
	}
}

// lost records the loss of a rank if no replica is left. It reports whether the loss is new.
func (pl *plan) lost(rank int, at time.Duration) bool {
	if pl.outcome != nil || pl.members.alive(rank) > 0 || pl.state.Drained[rank] || slices.Contains(pl.losses, rank) {
		return false
	}
	if pl.losses = append(pl.losses, rank); len(pl.losses) == 1 {
		pl.lossAt = at
	}
	return true
}

// sayLost warns the user that the job will roll back, if this death is the cause.
func (pl *plan) sayLost(m *member) {
	if rank := m.process.Rank; pl.recovery.decides != nil && pl.outcome == nil && pl.phase <= working && m.role == First && pl.members.alive(rank) == 0 && !pl.state.Drained[rank] {
		pl.warnf("rank %d has lost its last replica %v: the job will roll back to its last backup once a replacement has started", rank, m.process)
	}
}

// expendable chooses between p and q, which are the last replicas of their ranks. It returns
// one whose death the job can survive by a rollback, preferably the higher one. It returns nil
// if the job survives neither death.
func (pl *plan) expendable(p, q *member) *member {
	if pl.recovery.decides == nil || pl.recovery.keeping || p.process.Rank == q.process.Rank {
		return nil
	}
	if p.process.Compare(q.process) < 0 {
		p, q = q, p
	}
	for _, m := range []*member{p, q} {
		if pl.recovery.decides.Returns(m.process) {
			return m
		}
	}
	return nil
}

// sayReplaced prints a note about a joiner that has received its state.
func (pl *plan) sayReplaced(m *member) {
	for _, r := range pl.state.Replaced {
		if r.Process == m.process && r.Incarnation == m.incarnation {
			delete(pl.members.refused, m.process)
			if r.Left != 0 {
				pl.warnf("%v has moved from %s to %s at safe point %d (%.1f MB)", m.process, pl.hostName(r.Left), m.node.Name, r.Number, float64(r.Bytes)/1e6)
				continue
			}
			if pl.grows(r) {
				pl.warnf("%v is added on %s: it joined at safe point %d with the state of %v (%.1f MB)", m.process, m.node.Name, r.Number, r.Donor, float64(r.Bytes)/1e6)
				continue
			}
			pl.warnf("%v is replaced by another process on %s: it joined at safe point %d with the state of %v (%.1f MB), %.3f s after the death",
				m.process, m.node.Name, r.Number, r.Donor, float64(r.Bytes)/1e6, (r.At - pl.diedAt(r)).Round(time.Millisecond).Seconds())
		}
	}
}

// diedAt returns when the process that r has replaced was declared dead.
func (pl *plan) diedAt(r decision.Replaced) (at time.Duration) {
	for _, v := range pl.state.Verdicts {
		if v.Process == r.Process && v.Incarnation < r.Incarnation && !v.Withdrawn {
			at = v.At
		}
	}
	return at
}

// beyond ends a job that cannot recover from a loss.
func (pl *plan) beyond(loss *recovery.Loss) {
	if !loss.Back {
		pl.members.lose(pl.members.last[loss.Rank], "; "+loss.Error())
		return
	}
	var v decision.Verdict // the verdict on the process that held the last copy
	for _, w := range pl.state.Verdicts {
		if of(w) == loss.By {
			v = pl.members.explain(w)
		}
	}
	pl.decide(exitBy(v), fmt.Sprintf("%v: %v, at %.3f s (%s: %s)", loss, v.Process, pl.elapsed().Seconds(), v.Cause, firstLine(v.Detail)), of(v))
}

// reprints reports whether the rollback that began this generation makes the ranks print their
// output after the backup again, because the earlier lines may be wrong.
func (pl *plan) reprints(generation uint32) bool {
	return slices.ContainsFunc(pl.state.Rollbacks, func(b decision.Rollback) bool {
		return b.Generation == generation && (b.Blamed != nil || len(b.Disputed) > 0)
	})
}
