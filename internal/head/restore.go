package head

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// Succession is what a head begins with that takes the place of another one.
type Succession struct {
	State  *decision.State
	News   int           // so many of its last verdicts no head has told the user of
	Agents []Resync      // of all hosts that are not lost
	Term   uint64        // higher than that of any head before
	Joined time.Duration // when all had joined, on the clock of Step, if they have
}

// Resync is what an agent has, as it says before it repeats all that it has told
// the head before.
type Resync struct {
	Node      detect.ID
	Processes []Resynced
}

// Resynced is one process that an agent has started.
type Resynced struct {
	ID          job.Process
	Incarnation uint32 // as in From
	PID         int
	Joined      bool   // it has proved itself
	Begun       bool   // it has had job.KindStart
	Voiced      bool   // what it writes is output: it is there from the beginning, or its agent has heard Resume
	Generation  uint32 // of the last Resume that its agent has heard
	Freed       bool   // it has had job.KindRelease, and goes
}

// Restore returns the head that goes on with a job, and what is to be done at
// once. The driver then hands it what the agents repeat: what moves a process on
// is heard from there, not guessed. What is decided already is done
// again; agents keep from processes what they have heard.
func Restore(c Config, s Succession, now time.Duration) (*Head, []Action) {
	h := newHead(c)
	h.successor, h.state, h.now = true, s.State, now
	h.recovery.number = s.Term << 32 // not to be taken for what a head before has asked
	if h.state.Started {
		h.hasBegun, h.joinedAt = true, min(s.Joined, now)
	}
	h.restoreMembers(s.Agents)
	h.restoreVerdicts()
	h.shareMemory()
	h.restorePhase(s.Agents)
	h.restoreRecovery()
	h.tellNews(s.News)
	h.repeat()
	h.begun()
	acts := h.acts
	h.acts = nil
	return h, acts
}

// restoreMembers makes the list of all processes that ever had a place, and has the
// others get theirs now.
func (h *Head) restoreMembers(agents []Resync) {
	there := make(map[From]Resynced)
	for _, a := range agents {
		for _, x := range a.Processes {
			there[From{a.Node, x.ID, x.Incarnation}] = x
		}
	}
	for _, p := range job.Processes(h.config.Degrees) {
		for _, l := range h.state.Former {
			if l.Process == p {
				h.restore(p, l.Place, there)
			}
		}
		if at, born := h.state.Places[p]; born {
			h.restore(p, at, there)
		} else {
			h.choose(h.enroll(p, firstIncarnation, From{h.config.Of[p], p, firstIncarnation}, First))
		}
	}
	for i, node := range h.config.Spares {
		id := h.config.spareID(i)
		from := From{node, id, firstIncarnation}
		at, born := h.state.Spares[id]
		switch {
		case h.byAgent[from] != nil: // it has, or had, a place
		case !born:
			h.choose(h.enroll(id, firstIncarnation, from, Spare))
		default:
			h.restoreSpare(h.enroll(id, firstIncarnation, from, Spare), at, there)
		}
	}
}

// restore puts a process on the list that has, or had, a place.
func (h *Head) restore(p job.Process, at decision.Place, there map[From]Resynced) {
	from := From{at.Node, at.ID, at.Incarnation}
	if at.ID != p { // it was a spare
		from.Incarnation = firstIncarnation
	}
	role := Joiner
	if at.Incarnation == firstIncarnation || h.lived(p, at.Incarnation) {
		role = First
	}
	m := h.enroll(p, at.Incarnation, from, role)
	x, known := there[from]
	m.pid, m.again = max(at.PID, x.PID), x.Joined
	switch _, lost := h.state.Lost[at.Node]; {
	case at != h.state.Places[p]: // before the next one was born nothing more was to come of it
		m.state, m.settled = dead, true
		return
	case at.Status == decision.Dead:
		m.state, m.settled = dead, !known
	case !known && !lost: // its agent has not heard of it
		m.state = chosen
		return
	case at.Status == decision.Done:
		m.state, m.told = finished, true
	case role == Joiner && x.Freed: // nobody needed it then, and it is too late to change that
		m.state = dismissed
		h.after(lastWords, timer{kind: killMember, m: m})
	default:
		m.state = starting
	}
	m.made = true
	h.act(Adopt{To: from, Process: p, Role: role, Gone: !known})
	if role == First && m.state != dead {
		h.restoreVoice(m, x)
	}
}

// restoreVoice has the output of a process go on that was to, if its agent has
// not heard of it.
func (h *Head) restoreVoice(m *member, x Resynced) {
	past := &h.state.Recovery
	if past.Rolling || x.Voiced && x.Generation == past.Generation {
		return // if the job goes back, it goes on later
	}
	at, joined := h.backupOutput(m.process.Rank), false
	for _, r := range h.state.Replaced {
		if r.Process == m.process && r.Incarnation == m.incarnation && r.Generation == past.Generation {
			if own := past.Places[m.process].Output; own != nil { // it was admitted in a cut since
				at, joined = own, true
			}
		}
	}
	h.act(Resume{m.from, at, past.Generation, !joined && h.anew(past.Generation)})
}

// restoreSpare puts a spare on the list.
func (h *Head) restoreSpare(m *member, at decision.Place, there map[From]Resynced) {
	x, known := there[m.from]
	m.pid, m.again = max(at.PID, x.PID), x.Joined
	switch {
	case at.Status == decision.Dead:
		m.state, m.settled = ended, true
	case !known:
		m.state = chosen
	default:
		if m.state = starting; x.Joined {
			m.state = waiting
		}
		m.made = true
		h.act(Adopt{To: m.from, Process: m.process, Role: Spare})
	}
}

// lived reports whether a process that took the place of another one has got its
// state.
func (h *Head) lived(p job.Process, incarnation uint32) bool {
	return slices.ContainsFunc(h.state.Replaced, func(r decision.Replaced) bool { return r.Process == p && r.Incarnation == incarnation })
}

// restoreVerdicts draws the conclusions from the verdicts again.
func (h *Head) restoreVerdicts() {
	for _, v := range h.state.Verdicts {
		v = h.explain(v)
		m := h.holder(v.Process, v.Incarnation)
		m.verdict, m.end = &v, endBy(v.Cause)
		if v.Withdrawn {
			m.end, m.state = "dismissed", ended
			continue
		}
		h.fail(m, v)
		if m.role == First {
			h.last[v.Process.Rank] = v
		}
	}
	for _, v := range h.state.Verdicts { // of two ranks the one counts that was lost first
		if last := h.last[v.Process.Rank]; last.Epoch == v.Epoch {
			h.conclude(last)
		}
	}
	r := &h.recovery
	if n := len(h.state.Rollbacks); n > 0 && h.state.Recovery.Rolling { // the way back begins anew
		r.losses, r.lossAt = slices.Clone(h.state.Rollbacks[n-1].Ranks), h.state.Rollbacks[n-1].Since
	}
	for rank := range h.config.Degrees {
		if h.alive(rank) == 0 && !h.state.Drained[rank] && h.config.replaces() && !slices.Contains(r.losses, rank) {
			if r.losses = append(r.losses, rank); len(r.losses) == 1 {
				r.lossAt = h.last[rank].At
			}
		}
	}
	if h.state.Decided {
		h.outcome = &outcome{code: h.state.Code, text: h.state.Text}
	}
}

// tellNews tells the user of the last n verdicts.
func (h *Head) tellNews(n int) {
	said := make(map[detect.ID]bool) // of nodes
	for _, v := range h.state.Verdicts[len(h.state.Verdicts)-n:] {
		m := h.holder(v.Process, v.Incarnation)
		if v.Withdrawn {
			continue
		}
		if at := m.from.Node; v.Cause == job.CauseHost && !said[at] {
			said[at] = true
			h.warnf("%s", h.why(at))
		}
		h.sayDead(m)
		h.sayLost(m)
	}
}

// restorePhase finds out how far the job is. Before all have begun that are to,
// they have to be known here.
func (h *Head) restorePhase(agents []Resync) {
	switch {
	case h.state.Decided:
		h.phase = over
		return
	case h.state.Released:
		h.phase = released
		return
	case !h.state.Started:
		h.after(joinWarning, timer{kind: warnOfMissing})
		return
	}
	h.phase = working
	begun := make(map[From]bool)
	for _, a := range agents {
		for _, x := range a.Processes {
			begun[From{a.Node, x.ID, x.Incarnation}] = x.Begun
		}
	}
	for _, m := range h.all {
		if m.incarnation == firstIncarnation && m.role == First && m.state.there() && !begun[m.from] {
			h.phase = joining
		}
	}
}

// restoreRecovery goes on with what was decided about recovery.
func (h *Head) restoreRecovery() {
	if !h.config.recovers() || h.unopened() {
		return
	}
	d, acts := recovery.Resume(h.plan(), h.state.Recovery, h.elapsed())
	h.recovery.decides = d
	if h.phase > working {
		d.Over()
	}
	h.perform(acts)
}

// repeat does again what was decided and may not have been done: processes that
// were born are started, and hear of the verdicts; kills come about.
func (h *Head) repeat() {
	for _, m := range h.all {
		switch {
		case m.state == chosen && h.placed(m):
			h.launch(m)
		case m.state == finished:
			h.tellAll(m)
		}
		if m.role == First && m.state.there() && h.recovery.decides != nil {
			h.askQuiet(asked{m: m})
		}
	}
	for i, k := range h.config.Kills {
		if by, fired := h.state.Fired[i]; fired {
			h.fired(decision.Entry{Kind: decision.Fired, Index: i, Process: k.Process, Incarnation: by})
		}
	}
	for i, s := range h.state.Injections {
		if s.Incarnation > 0 {
			h.hit(i)
		}
	}
}

// placed reports whether the place of a process is decided.
func (h *Head) placed(m *member) bool {
	if m.role == Spare {
		_, born := h.state.Spares[m.process]
		return born
	}
	return h.state.Places[m.process].Incarnation == m.incarnation
}

// begun goes on with the phase that the job is in.
func (h *Head) begun() {
	h.catchUp()
	switch h.phase {
	case over:
		if h.state.Decided {
			h.finish()
		}
	case released:
		if h.state.Released {
			h.release()
		}
	case working:
		h.goOn()
	case joining:
		h.startIfReady()
	}
	h.settle()
}
