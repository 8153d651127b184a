package head

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// hear handles a message of a process. The cause of a failure counts before the counts that come
// with it.
func (h *Head) hear(m *member, msg *job.Message) {
	h.handle(m, msg)
	if msg.Stats != nil {
		h.watched(m)
	}
}

// handle handles a message but for differences between replicas. Under a successor agents also
// repeat the messages of processes that have exited; from those it takes what the report needs.
func (h *Head) handle(m *member, msg *job.Message) {
	if msg.Stats != nil {
		m.stats, m.heard = *msg.Stats, h.now
		h.passOn(msg.Stats.Notes, h.warnf)
		h.passOn(msg.Stats.Details, h.detailf)
		if c := msg.Stats.Corruption; c != nil {
			h.convicted(m, c.Convicted)
			if c.Doubt != nil {
				h.doubt(m, c.Doubt)
			}
		}
	}
	if msg.Kind == job.KindHandled {
		h.handled(m, msg.Epoch, msg.Ago)
	}
	if !m.state.there() {
		m.final = m.final || msg.Kind == job.KindFinish
		return
	}
	switch msg.Kind {
	case job.KindWorld:
		h.joinedWorld(m, msg.World)
	case job.KindListen:
		m.address = msg.Address
		h.ready(m)
	case job.KindFired:
		h.fire(m, *msg.Kill)
	case job.KindSuspect:
		h.suspect(m, *msg.Process, msg.Incarnation, msg.Text)
	case job.KindMended:
		h.mended(m, *msg.Process)
	case job.KindReply:
		if h.recovery.decides != nil { // else there was no order to answer
			h.reply(m, *msg.Reply)
		}
	case job.KindFinish:
		h.saysFinished(m)
	case job.KindDrained:
		generation, _ := h.generation(m)
		h.propose(decision.Entry{Kind: decision.Drained, Process: m.process, Incarnation: m.incarnation, Generation: generation})
	case job.KindFail:
		h.runFailed(m, *msg.Failure)
	}
}

// saysFinished handles the report that run has returned nil in a process.
func (h *Head) saysFinished(m *member) {
	m.final = true
	if m.state == finished { // decided under an earlier head
		h.compare(m)
		return
	}
	generation, counts := h.generation(m)
	if !counts {
		return
	}
	h.detailf("%v has finished", m.process)
	h.propose(decision.Entry{Kind: decision.Finished, Process: m.process, Incarnation: m.incarnation, Generation: generation})
}

// finished acts on the kept decision that run has returned in a process, unless that was in
// a generation that is over.
func (h *Head) finished(e decision.Entry) {
	at, m := h.state.Places[e.Process], h.holder(e.Process, e.Incarnation)
	if at.Status != decision.Done || at.Incarnation != e.Incarnation {
		return
	}
	if m.done = true; m.state == running {
		m.to(finished)
	}
	h.watched(m)
	h.happened(m, (*recovery.Head).Finished)
	h.compare(m)
	h.releaseIfComplete()
}

// drained acts on the kept decision that every message of a finished process has been
// received.
func (h *Head) drained(e decision.Entry) {
	if h.state.Drained[e.Process.Rank] && e.Generation == h.state.Recovery.Generation {
		h.happened(h.holder(e.Process, e.Incarnation), (*recovery.Head).Through)
	}
}

// compare ends the job if m, which has finished, has diverged. It compares the sections of
// m with those of the other finished replicas of its rank, and its count of safe points
// with those of finished processes of other ranks if one of the two was restored.
func (h *Head) compare(m *member) {
	for replica := range h.config.Degrees[m.process.Rank] {
		other := h.places[job.Process{Rank: m.process.Rank, Replica: replica}]
		if other == m || !other.final || !other.done { // one that has died since counts
			continue
		}
		if how := m.stats.Diverged(&other.stats); how != "" {
			h.stop(ExitDiverged, fmt.Sprintf("divergence of %v and %v: %s", m.process, other.process, how), byWord)
			return
		}
	}
	for _, p := range job.Processes(h.config.Degrees) {
		other := h.places[p]
		if p.Rank == m.process.Rank || other == nil || !other.final || h.state.Places[p].Status != decision.Done {
			continue
		}
		if how := m.stats.Apart(&other.stats); how != "" {
			h.stop(ExitDiverged, fmt.Sprintf("divergence of %v and %v: %s", m.process, p, how), byWord)
			return
		}
	}
}

// divergedBefore ends the job if m, which is in a cut, has run other sections before it than
// a replica of its rank in the same cut. It reports whether that is so.
func (h *Head) divergedBefore(m *member, r *job.Reply) bool {
	m.cut = r
	for replica := range h.config.Degrees[m.process.Rank] {
		other := h.places[job.Process{Rank: m.process.Rank, Replica: replica}]
		if other == m || !other.alive() || other.cut == nil || other.cut.Number != r.Number || other.cut.Generation != r.Generation {
			continue
		}
		how := "their sections had different tasks, shapes or arguments"
		if o := other.cut; o.Sections == r.Sections && o.Signature == r.Signature {
			continue
		} else if o.Sections != r.Sections {
			how = fmt.Sprintf("the first left %d sections, the second %d", r.Sections, o.Sections)
		}
		h.stop(ExitDiverged, fmt.Sprintf("divergence of %v and %v at safe point %d: %s", m.process, other.process, r.Number, how), byWord)
		return true
	}
	return false
}

// differs handles a difference between the outputs of replicas of a rank. In checked mode
// it ends the job. Otherwise it only warns: the difference may be a harmless one, like a
// time.
func (h *Head) differs(e Differs) {
	if h.differing[e.Rank] {
		return
	}
	h.differing[e.Rank] = true
	if h.config.Setup.Check {
		h.stop(ExitDiverged, fmt.Sprintf("divergence of replicas of rank %d: %s", e.Rank, e.Text), byWord)
		return
	}
	h.warnf("warning: %s: %s. Output must depend neither on such things (let intra.Once read them) nor on p.Replica() nor, in a job that rolls back, on the order of messages", e.Text, job.DivergeAdvice(false))
}

// passOn prints the notes of processes, each one once: most processes send the same notes.
func (h *Head) passOn(notes []string, log func(format string, args ...any)) {
	for _, n := range notes {
		if !slices.Contains(h.notes, n) {
			h.notes = append(h.notes, n)
			log("%s", n)
		}
	}
}
