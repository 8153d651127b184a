package head

import (
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// Succession is the state with which a successor begins.
type Succession struct {
	State  *decision.State
	Unseen int           // number of its last verdicts that the user has not seen
	Agents []Resync      // reports of all hosts that are not lost
	Term   uint64        // higher than that of any earlier head
	Joined time.Duration // when all processes had joined, on the clock of Step; else unset
}

// Resync is an agent's report of its processes. The agent sends it before it repeats all
// messages that it has sent to the lost head.
type Resync struct {
	Node      detect.ID
	Processes []Resynced
}

// Resynced is one process that an agent has started.
type Resynced struct {
	ID          job.Process
	Incarnation uint32 // see From
	PID         int
	Joined      bool   // the process has authenticated itself
	Begun       bool   // the process has received job.KindStart
	Voiced      bool   // its writes are output: it started with the job, or its agent has received Resume
	Generation  uint32 // generation of the last Resume that its agent has received
	Freed       bool   // the process has received job.KindRelease, and exits
}

// Restore returns the successor that continues a job, and the actions to take at once. The
// driver then passes on the messages that the agents repeat. From these messages alone the
// successor learns the progress of each process. It acts again on decisions that are already
// kept. Agents discard messages that a process has already received.
func Restore(c Config, s Succession, now time.Duration) (*Head, []Action) {
	h := newHead(c)
	h.successor, h.state, h.now = true, s.State, now
	h.plan.number = s.Term << 32 // the numbers of an earlier head's requests are lower
	if h.state.Started {
		h.hasBegun, h.joinedAt = true, min(s.Joined, now)
	}
	for i := range h.state.Hosts {
		h.config.enter(&h.state.Hosts[i])
	}
	h.restoreMembers(s.Agents)
	h.restoreVerdicts()
	h.members.shareMemory()
	h.restorePhase(s.Agents)
	h.restoreRecovery()
	h.reportUnseen(s.Unseen)
	h.repeat()
	h.begun()
	acts := h.acts
	h.acts = nil
	return h, acts
}

// restoreMembers lists all processes that have ever had a slot, and chooses the processes that
// the lost head had not placed yet.
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
				h.restoreFormer(l, there)
			}
		}
		at, placed := h.state.Places[p]
		switch {
		case placed && at.Node == 0:
			h.members.vacate(p)
		case placed:
			h.restore(p, at, there)
		case h.config.vacant(p):
			h.members.vacate(p)
			h.members.propose(decision.Entry{Kind: decision.Vacant, Process: p})
		default:
			h.members.choose(h.members.enroll(p, firstIncarnation, From{h.config.Of[p], p, firstIncarnation}, First))
		}
		if at, ok := h.state.Reliefs[p]; ok {
			h.restore(p, at, there)
		}
	}
	for i, node := range h.config.Spares {
		if id := h.config.spareID(i); h.state.Spares[id].Node == 0 {
			h.members.choose(h.members.enroll(id, firstIncarnation, From{node, id, firstIncarnation}, Spare))
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(h.state.Spares), job.Process.Compare) {
		at := h.state.Spares[id]
		if from := (From{at.Node, id, firstIncarnation}); h.members.byAgent[from] == nil { // else the process has or had a slot
			h.restoreSpare(h.members.enroll(id, firstIncarnation, from, Spare), at, there)
		}
	}
}

// restoreMember lists a process that has or had a slot, or relieves the process in it.
func (h *Head) restoreMember(p job.Process, at decision.Place, relieves bool) *member {
	from := From{at.Node, at.ID, at.Incarnation}
	if at.ID != p { // the process was a spare
		from.Incarnation = firstIncarnation
	}
	m := &member{from: from, node: h.config.node(at.Node), role: Joiner, stopped: longAgo, relieves: relieves}
	if m.vacant() {
		m.node = new(Node)
	}
	if at.Incarnation == firstIncarnation || h.lived(p, at.Incarnation) {
		m.role, m.native = First, h.config.Setup.MPI && at.Incarnation == firstIncarnation
	}
	h.members.add(m, p, at.Incarnation)
	return m
}

// restoreFormer lists a process that has lost its slot. In general its output was complete
// before the next process was placed. If the next process relieved it, the two lived at the
// same time, and it may still live.
func (h *Head) restoreFormer(l decision.Predecessor, there map[From]Resynced) {
	m := h.restoreMember(l.Process, l.Place, l.Never)
	x, known := there[m.from]
	m.pid, m.again = max(l.PID, x.PID), x.Joined
	if m.state, m.settled = dead, !l.Loose || !known; m.settled {
		return
	}
	m.made = true
	h.act(Adopt{To: m.from, Process: l.Process, Role: m.role})
	h.act(Kill{m.from, syscall.SIGKILL})
}

// restore sets the state of the process in a slot, or of a process that relieves it.
func (h *Head) restore(p job.Process, at decision.Place, there map[From]Resynced) {
	m := h.restoreMember(p, at, at == h.state.Reliefs[p])
	from, role := m.from, m.role
	x, known := there[from]
	m.pid, m.again = max(at.PID, x.PID), x.Joined
	switch _, lost := h.state.Lost[at.Node]; {
	case at.Status == decision.Dead:
		m.state, m.settled = dead, !known
	case !known && !lost: // its agent has not received Start
		m.state = chosen
		return
	case at.Status == decision.Done:
		m.state, m.informed = finished, true
		m.done = true
	case role == Joiner && x.Freed: // an earlier head has dismissed it, which cannot be undone
		m.state = dismissed
		h.after(lastWords, timer{kind: killMember, m: m})
	default:
		m.state = starting
	}
	m.made = true
	h.act(Adopt{To: from, Process: p, Role: role, Gone: !known})
	if m.state == dead && known && h.state.Departs(m.endpoint()) { // it waits in the cut in which it was dropped
		h.act(Kill{from, syscall.SIGKILL})
	}
	if role == First && m.state != dead {
		h.restoreVoice(m, x)
	}
}

// restoreVoice repeats Resume for a process whose output was to continue, if its agent has
// not received it.
func (h *Head) restoreVoice(m *member, x Resynced) {
	past := &h.state.Recovery
	if past.Rolling || x.Voiced && x.Generation == past.Generation {
		return // in a rollback the output continues later
	}
	at, joined := h.plan.backupOutput(m.process.Rank), false
	for _, r := range h.state.Replaced {
		if r.Process == m.process && r.Incarnation == m.incarnation && r.Generation == past.Generation {
			if own := past.Places[m.process].Output; own != nil { // the process was admitted in a cut of this generation
				at, joined = own, true
			}
		}
	}
	h.act(Resume{m.from, at, past.Generation, !joined && h.plan.reprints(past.Generation)})
}

// restoreSpare sets the state of a spare.
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

// restoreVerdicts applies the consequences of the verdicts again.
func (h *Head) restoreVerdicts() {
	for _, v := range h.state.Verdicts {
		v = h.members.explain(v)
		m := h.members.holder(v.Process, v.Incarnation)
		m.verdict, m.end = &v, endBy(v.Cause)
		switch {
		case m.vacant():
			continue
		case v.Withdrawn:
			m.end, m.state = endOf(v), ended
			continue
		case v.Relieved:
			m.end = endOf(v)
			continue
		}
		h.deaths.fail(m, v)
		if m.role == First {
			h.members.last[v.Process.Rank] = v
		}
	}
	for _, v := range h.state.Verdicts { // in order: the first lost rank decides the outcome
		if last, ok := h.members.last[v.Process.Rank]; ok && last.Epoch == v.Epoch {
			h.members.conclude(last)
		}
	}
	if n := len(h.state.Rollbacks); n > 0 && h.state.Recovery.Rolling { // the rollback starts again
		h.plan.losses, h.plan.lossAt = slices.Clone(h.state.Rollbacks[n-1].Ranks), h.state.Rollbacks[n-1].Since
	}
	if h.config.replaces() {
		for rank := range h.config.Degrees {
			h.plan.lost(rank, h.members.last[rank].At)
		}
	}
	if h.state.Decided {
		h.outcome = &outcome{code: h.state.Code, text: h.state.Text}
	}
}

// reportUnseen reports the last n verdicts to the user.
func (h *Head) reportUnseen(n int) {
	said := make(map[detect.ID]bool) // nodes whose loss has been reported
	for _, v := range h.state.Verdicts[len(h.state.Verdicts)-n:] {
		m := h.members.holder(v.Process, v.Incarnation)
		if v.Withdrawn || v.Relieved {
			continue
		}
		if at := m.from.Node; v.Cause == job.CauseHost && !said[at] {
			said[at] = true
			h.warnf("%s", h.hosts.why(at))
		}
		h.deaths.sayDead(m)
		h.plan.sayLost(m)
	}
}

// restorePhase finds the phase of the job. If a process has not received KindStart yet, the
// job is still joining: this head has to wait for all processes before it sends KindStart
// again.
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
	for _, m := range h.members.all {
		if m.incarnation == firstIncarnation && m.role == First && m.state.there() && !begun[m.from] {
			h.phase = joining
		}
	}
}

// restoreRecovery continues with the kept decisions about recovery.
func (h *Head) restoreRecovery() {
	if !h.config.recovers() || h.unopened() {
		return
	}
	d, acts := recovery.Resume(h.members.recoveryConfig(), h.state.Recovery, h.elapsed())
	h.recovery.decides = d
	if h.state.Recovery.Admitting {
		h.tellRelieved()
	}
	if h.phase > working {
		d.Over()
	}
	h.recovery.perform(acts)
}

// tellRelieved sends all verdicts to the processes that stand in a cut, before a successor
// repeats the order that admits joiners. A joiner may take the slot of a process that it
// relieves. A process that admits the joiner first, and only then learns that the relieved
// process is dead, would take the joiner for dead.
func (h *Head) tellRelieved() {
	for _, m := range h.members.all {
		if m.role == First && m.state.there() {
			h.members.tellAll(m)
		}
	}
}

// repeat acts again on decisions on which the lost head may not have acted: it starts placed
// processes, sends verdicts and carries out kills.
func (h *Head) repeat() {
	for _, m := range h.members.all {
		switch {
		case m.state == chosen && h.members.placed(m):
			h.members.launch(m)
		case m.state == finished:
			h.members.tellAll(m)
		}
		if m.role == First && m.state.there() && h.recovery.decides != nil {
			h.plan.askQuiet(asked{m: m})
		}
	}
	for i, k := range h.config.Kills {
		if by, fired := h.state.Fired[i]; fired {
			h.faults.fired(decision.Entry{Kind: decision.Fired, Index: i, Process: k.Process, Incarnation: by})
		}
	}
	for i, s := range h.state.Injections {
		if s.Incarnation > 0 {
			h.faults.hit(i)
		}
	}
}

// begun continues the phase that the job is in.
func (h *Head) begun() {
	h.recovery.catchUp()
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
		h.members.startIfReady()
	}
	h.leaves.again()
	h.settle()
}
