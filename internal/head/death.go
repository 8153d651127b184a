package head

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

// exited: a process is no more, and all that it said is known.
func (h *Head) exited(m *member, e Exit) {
	if m.exit != nil {
		return
	}
	m.exit = &e
	if !m.state.there() {
		if !m.settled && (m.state == dead || m.state == ended) { // that was under another head
			h.finishOutput(m, true, m.verdict != nil && itself(m.verdict.Cause))
		}
		return
	}
	switch {
	case m.state == dismissed:
		h.dismissed(m)
		h.finishOutput(m, true, false)
		return
	case m.role == Spare:
		h.spareExited(m)
		h.finishOutput(m, true, false)
		return
	}
	clean := h.phase == released && m.state == finished && m.ending == nil
	if clean || h.phase == over && m.ending == nil {
		if m.end = "ended"; clean {
			m.end = "finished"
		}
		m.to(ended)
		h.finishOutput(m, !clean, false)
		return
	}
	c := m.cause()
	if tool := h.tool(m); tool != "" {
		c.detail += ", under " + tool
	}
	if m.end == "" {
		m.end = endBy(c.cause)
	}
	m.to(gone)
	h.propose(decision.Entry{Kind: decision.Died, Process: m.process, Incarnation: m.incarnation, Cause: c.cause, Text: c.detail})
	h.finishOutput(m, true, itself(c.cause) || e.Quit)
}

// tool is the command that has started a process, "" if none has.
func (h *Head) tool(m *member) string {
	c, ok := job.CloneOf(h.config.Clones, m.process)
	if !ok || m.incarnation != firstIncarnation || m.role == Spare {
		return ""
	}
	return c.Tool()
}

// finishOutput lets the output of a process that is gone come to its end, if
// there is one.
func (h *Head) finishOutput(m *member, died, itself bool) {
	if m.settled = !m.made; m.made {
		h.act(FinishOutput{To: m.from, Process: m.process, Died: died, Itself: itself})
	}
}

// settled: nothing more comes of what a process has written that is gone. Only
// now may another one have its place.
func (h *Head) settled(m *member) {
	m.settled = true
	h.fill(m.process)
}

// hostLost: a node is lost, and all that runs there. The verdicts follow, but
// spares are nobody's peers.
func (h *Head) hostLost(e decision.Entry) {
	why := h.why(e.Node)
	h.warnf("%s", why)
	for _, m := range h.all {
		switch {
		case m.from.Node != e.Node:
		case m.role == Spare && m.state.there():
			m.ending = &ending{job.CauseHost, why}
			h.spareExited(m)
			h.finishOutput(m, true, false)
		case !m.settled && m.exit == nil && (m.state == dead || m.state == ended): // under another head, and its end is not told again
			h.finishOutput(m, true, false)
		}
	}
}

// declare tells the others of a verdict.
func (h *Head) declare(v decision.Verdict) {
	v = h.explain(v)
	m := h.holder(v.Process, v.Incarnation)
	was, lived := m.state, m.alive()
	m.verdict = &v
	switch was {
	case ended: // it was let go
	case gone:
		m.to(dead)
	default: // with its host
		if m.to(dead); m.end == "" {
			m.end = endBy(v.Cause)
		}
		h.finishOutput(m, true, false)
	}
	h.tell(&v.Verdict)
	if was == ended {
		return
	}
	h.fail(m, v)
	h.sayDead(m)
	h.die(v, lived)
	h.died(m)
}

// declareAll declares those who died together, and draws the conclusions.
func (h *Head) declareAll(verdicts []job.Verdict) {
	if len(verdicts) == 0 {
		return
	}
	for _, v := range verdicts {
		h.declare(h.state.Verdicts[v.Epoch-1])
	}
	if verdicts[0].Cause == job.CauseHost {
		h.notify(news{kind: newsAllDied})
	}
	h.settle()
	h.introduceArrived()
	h.startIfReady()
	h.releaseIfComplete()
}

// tell everybody about a death.
func (h *Head) tell(v *job.Verdict) {
	for _, m := range h.all {
		if m.told && m.state.there() {
			h.send(m, &job.Message{Kind: job.KindVerdict, Verdict: v})
		}
	}
}

// sayDead tells the user of a death, unless the end of the job, or the way back,
// says it.
func (h *Head) sayDead(m *member) {
	rank := m.process.Rank
	why := fmt.Sprintf("%s: %s", m.verdict.Cause, firstLine(m.verdict.Detail))
	switch left := h.alive(rank); {
	case m.role == Joiner:
		h.warnf("the replacement for %v is dead (%s)", m.process, why)
	case left > 0:
		h.warnf("%v is dead (%s), %d of %d replicas of rank %d left", m.process, why, left, h.config.Degrees[rank], rank)
	case h.state.Drained[rank]:
		h.warnf("%v is dead (%s), after rank %d had finished", m.process, why, rank)
	}
}

// tellAll tells a process of all deaths so far that are anything to it: not of
// those before the last one in its own place.
func (h *Head) tellAll(m *member) {
	verdicts := h.state.Verdicts
	for i, v := range verdicts {
		if v.Process == m.process {
			verdicts = h.state.Verdicts[i+1:]
		}
	}
	for _, v := range verdicts {
		v = h.explain(v)
		h.send(m, &job.Message{Kind: job.KindVerdict, Verdict: &v.Verdict})
	}
}

// fail notes a verdict for the report.
func (h *Head) fail(m *member, v decision.Verdict) {
	f := runreport.NewFailure(v.Verdict, v.At)
	f.Fenced = m.fenced.Seconds()
	if v.Cause == job.CauseHost {
		f.Evidence = h.evidence(m.from.Node)
	}
	h.failures = append(h.failures, f)
	h.act(Declared{v})
}

// dismissed: a process that nobody needs is gone, or was never started.
func (h *Head) dismissed(m *member) {
	m.end = "dismissed"
	m.to(ended)
	h.withdraw(m, "not needed any more")
}

// withdraw has it decided that a process that nobody needs, or that could not be
// started, has left its place. Those that had a link to it hear that nothing more
// comes.
func (h *Head) withdraw(m *member, why string) {
	h.propose(decision.Entry{Kind: decision.Withdrawn, Process: m.process, Incarnation: m.incarnation, Text: why})
}

// withdrawn: a process has left its place.
func (h *Head) withdrawn(e decision.Entry) {
	if e.Process.Rank >= len(h.config.Degrees) {
		return // a spare, of which recovery has heard
	}
	why := e.Text
	if h.holder(e.Process, e.Incarnation).end == "dismissed" { // another head did not know that, and nobody was refused
		why = ""
	}
	h.notify(news{kind: newsUnstarted, process: e.Process, incarnation: e.Incarnation, text: why})
}

// unheard: nothing more comes from a process, or gets to it.
func (h *Head) unheard(m *member, why Silence, text string) {
	if !m.state.there() {
		return
	}
	switch {
	case why == SilenceUntold:
		h.fence(m, ending{job.CauseFenced, "it cannot be sent a message that it needs: " + text})
		return
	case m.hello == nil && why != SilenceEnd && m.role == Joiner:
		h.fence(m, ending{job.CauseFenced, "it cannot join: " + text})
	case m.hello == nil && why != SilenceEnd:
		h.refuse(fmt.Sprintf("%v cannot join: %s", m.from.ID, text))
	case m.hello == nil: // it is gone, or will be; its agent sees that
		return
	case why == SilenceNonsense:
		h.fence(m, ending{job.CauseFenced, fmt.Sprintf("it sent a malformed message: %s", text)})
	}
	h.after(lastWords, timer{kind: killDeaf, m: m})
}

// deaf: a process lives on without its control connection, and would wait for
// events that cannot reach it.
func (h *Head) deaf(m *member) {
	if m.state.there() && m.ending == nil && h.phase <= working { // else it is killed anyway
		m.ending = &ending{job.CauseExit, "it closed its control connection"}
		h.kill(m)
	}
}

// programGone: the program ended, and the wrapper that started it goes on.
func (h *Head) programGone(m *member) {
	if !m.state.there() || m.ending != nil || h.phase == released {
		return
	}
	m.ending = &ending{job.CauseExit, "its program ended, but the wrapper that started it did not"}
	h.kill(m)
}

// words passes on the last words of a process, unless another one has said the
// same: replicas do all the same, errors too.
func (h *Head) words(m *member, text string) {
	if slices.Contains(h.lastWords, text) {
		h.detailf("%s says the same: %s", m.name(), firstLine(text))
		return
	}
	h.lastWords = append(h.lastWords, text)
	h.act(Log{Level: Note, At: h.elapsed(), Text: prefix(m.process, text)})
}

// runFailed: run did not end well in a process, which exits now.
func (h *Head) runFailed(m *member, f job.Failure) {
	h.words(m, fmt.Sprintf("%s: %s", f.Kind, f.Text))
	m.end = "failed"
	m.ending = &ending{job.CauseExit, f.Text}
	switch f.Kind {
	case job.FailPanic:
		m.ending.cause = job.CausePanic
	case job.FailDivergence:
		h.decide(ExitDiverged, fmt.Sprintf("divergence, found by %v: %s", m.process, firstLine(f.Text)), m.endpoint())
		h.settle()
	case job.FailCorruption:
		h.decide(ExitDiverged, fmt.Sprintf("silent corruption, found by %v: %s", m.process, firstLine(f.Text)), m.endpoint())
		h.settle()
	case job.FailRefused:
		h.decide(ExitRefused, fmt.Sprintf("refused by %v: %s", m.process, firstLine(f.Text)), m.endpoint())
		h.settle()
	case job.FailFinding:
		h.decide(ExitFailed, fmt.Sprintf("finding of %v: %s", m.process, firstLine(f.Text)), m.endpoint())
		h.settle()
	}
	h.after(lastWords, timer{kind: killMember, m: m})
}

// prefix puts the name of the process in front of each line.
func prefix(p job.Process, text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		fmt.Fprintf(&b, "%v: %s", p, line)
	}
	return b.String()
}

// handled: a process has handled a verdict, so long ago.
func (h *Head) handled(m *member, epoch uint64, ago time.Duration) {
	f := h.failure(epoch)
	if f == nil { // on a joiner that was not needed
		return
	}
	if f.HandledBy(m.process, h.elapsed()-ago) {
		h.detailf("%v has handled the death of %v", m.process, f.Process)
	}
}

// failure returns what the report says of a verdict, nil if it is on nobody that
// was needed.
func (h *Head) failure(epoch uint64) *runreport.Failure {
	for i := range h.failures {
		if h.failures[i].Epoch == epoch {
			return &h.failures[i]
		}
	}
	return nil
}
