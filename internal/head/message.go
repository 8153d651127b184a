package head

import (
	"slices"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// receive handles a message of a process. It handles a reported failure before the counts in the
// same message, since the first cause of the job's end counts.
func (h *Head) receive(m *member, msg *job.Message) {
	h.handle(m, msg)
	if msg.Stats != nil {
		h.judge.watched(m)
	}
}

// handle handles everything in a message except differences between replicas. Under a
// successor, agents also repeat the messages of processes that have exited; handle uses only
// those parts that the report needs.
func (h *Head) handle(m *member, msg *job.Message) {
	if msg.Stats != nil {
		m.stats, m.statsAt = *msg.Stats, h.now
		h.passOn(msg.Stats.Notes, h.warnf)
		h.passOn(msg.Stats.Details, h.detailf)
		if c := msg.Stats.Corruption; c != nil {
			h.judge.blameAll(m, c.Blames)
			if c.Dispute != nil {
				h.judge.dispute(m, c.Dispute)
			}
		}
	}
	if msg.Kind == job.KindHandled {
		h.deaths.handled(m, msg.Epoch, msg.Ago)
	}
	if !m.state.there() {
		m.final = m.final || msg.Kind == job.KindFinish
		return
	}
	switch msg.Kind {
	case job.KindWorld:
		h.members.joinedWorld(m, msg.World)
	case job.KindListen:
		m.address = msg.Address
		h.members.ready(m)
	case job.KindFired:
		h.faults.fire(m, *msg.Kill)
	case job.KindSuspect:
		h.judge.suspect(m, *msg.Process, msg.Incarnation, msg.Text)
	case job.KindMended:
		h.judge.mended(m, *msg.Process, msg.Incarnation)
	case job.KindReply:
		if r := *msg.Reply; r.Alone() {
			h.plan.alone(m, r)
		} else if h.recovery.decides != nil && !(r.Kind == job.ReplyDrained && h.judge.divergedBefore(m, &r)) { // without recovery there was no order to answer
			h.plan.reply(m, r)
		}
	case job.KindFinish:
		h.saysFinished(m)
	case job.KindDrained:
		generation, _ := h.recovery.generation(m)
		h.propose(decision.Entry{Kind: decision.Drained, Process: m.process, Incarnation: m.incarnation, Generation: generation})
	case job.KindFail:
		h.deaths.runFailed(m, *msg.Failure)
	}
}

// saysFinished handles the report that run has returned nil in a process.
func (h *Head) saysFinished(m *member) {
	m.final = true
	if m.state == finished { // an earlier head has decided that
		h.judge.compare(m)
		return
	}
	generation, counts := h.recovery.generation(m)
	if !counts {
		return
	}
	h.detailf("%v has finished", m.process)
	h.propose(decision.Entry{Kind: decision.Finished, Process: m.process, Incarnation: m.incarnation, Generation: generation})
}

// finished acts on the kept decision that run has returned in a process. It ignores a decision
// of an earlier generation.
func (h *Head) finished(e decision.Entry) {
	at, m := h.state.Places[e.Process], h.members.holder(e.Process, e.Incarnation)
	if at.Status != decision.Done || at.Incarnation != e.Incarnation {
		return
	}
	if m.done = true; m.state == running {
		m.to(finished)
	}
	h.judge.watched(m)
	h.recovery.happened(m, (*recovery.Head).Finished)
	h.judge.compare(m)
	h.members.releaseIfComplete()
}

// drained acts on the kept decision that every message of a finished process has been
// received.
func (h *Head) drained(e decision.Entry) {
	if h.state.Drained[e.Process.Rank] && e.Generation == h.state.Recovery.Generation {
		h.recovery.happened(h.members.holder(e.Process, e.Incarnation), (*recovery.Head).Through)
	}
}

// passOn prints the notes of processes. It prints each note once, since most processes send
// the same notes.
func (h *Head) passOn(notes []string, log func(format string, args ...any)) {
	for _, n := range notes {
		if !slices.Contains(h.notes, n) {
			h.notes = append(h.notes, n)
			log("%s", n)
		}
	}
}
