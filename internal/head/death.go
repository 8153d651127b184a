package head

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// exited handles the exit of a process. All its messages have been handled before.
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

// tool returns the command of -clone that has started a process, "" if none has.
func (h *Head) tool(m *member) string {
	c, ok := job.CloneOf(h.config.Clones, m.process)
	if !ok || m.incarnation != firstIncarnation || m.role == Spare {
		return ""
	}
	return c.Tool()
}

// finishOutput completes the output of a process that has exited, if it has one.
func (h *Head) finishOutput(m *member, died, itself bool) {
	if m.settled = !m.made; m.made {
		h.act(FinishOutput{To: m.from, Process: m.process, Died: died, Itself: itself})
	}
}

// settled records that the output of an exited process is complete. Only now another process
// may have its slot.
func (h *Head) settled(m *member) {
	m.settled = true
	h.fill(m.process)
}

// hostLost handles the loss of a node and of the processes there. Their verdicts follow;
// spares get none, since they have no peers.
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
		case !m.settled && m.exit == nil && (m.state == dead || m.state == ended): // it died under an earlier head, and its Exited will not be repeated
			h.finishOutput(m, true, false)
		}
	}
}

// declare applies a verdict, and sends it to the other processes.
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
	if m.knows() {
		h.undescribed(m.process.Rank)
	}
	h.die(v, lived)
	h.died(m)
}

// declareAll declares the processes that died together, and then checks what their deaths
// make possible.
func (h *Head) declareAll(verdicts []job.Verdict) {
	if len(verdicts) == 0 {
		return
	}
	for _, v := range verdicts {
		h.declare(h.state.Verdicts[v.Epoch-1])
	}
	if verdicts[0].Cause == job.CauseHost {
		h.notify(func(d *recovery.Head, now time.Duration) []recovery.Action {
			h.recovery.together = false
			return d.Conclude(now)
		})
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

// sayDead reports a death to the user, unless the message about the end of the job or about
// a rollback reports it.
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

// tellAll sends a process all verdicts that concern it: those after the last verdict on its
// own slot.
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

// fail records a verdict for the report.
func (h *Head) fail(m *member, v decision.Verdict) {
	f := runreport.NewFailure(v.Verdict, v.At)
	f.Fenced = m.fenced.Seconds()
	if v.Cause == job.CauseHost {
		f.Evidence = h.evidence(m.from.Node)
	}
	h.failures = append(h.failures, f)
	h.act(Declared{v})
}

// dismissed handles the end of a process that was dismissed, or that was never started.
func (h *Head) dismissed(m *member) {
	m.end = "dismissed"
	m.to(ended)
	h.withdraw(m, "not needed any more")
}

// withdraw has the decision kept that a process has left its slot: it was dismissed, or
// could not be started. The entry becomes a verdict, so that processes with a link to it
// learn of its end.
func (h *Head) withdraw(m *member, why string) {
	h.propose(decision.Entry{Kind: decision.Withdrawn, Process: m.process, Incarnation: m.incarnation, Text: why})
}

// withdrawn acts on the kept decision that a process has left its slot.
func (h *Head) withdrawn(e decision.Entry) {
	if e.Process.Rank >= len(h.config.Degrees) {
		return // a spare, whose end recovery knows already
	}
	why := e.Text
	if h.holder(e.Process, e.Incarnation).end == "dismissed" { // it was dismissed, so an error text of an earlier head does not count
		why = ""
	}
	h.notify(func(d *recovery.Head, now time.Duration) []recovery.Action {
		return d.Unstarted(e.Process, e.Incarnation, why, now)
	})
}

// unheard handles the loss of the control connection to a process.
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
	case m.hello == nil: // it has exited or will; its agent reports that
		return
	case why == SilenceNonsense:
		h.fence(m, ending{job.CauseFenced, fmt.Sprintf("it sent a malformed message: %s", text)})
	}
	h.after(lastWords, timer{kind: killDeaf, m: m})
}

// deaf kills a process that lives without its control connection: it would wait for events
// that cannot reach it.
func (h *Head) deaf(m *member) {
	if m.state.there() && m.ending == nil && h.phase <= working { // else it is killed anyway
		m.ending = &ending{job.CauseExit, "it closed its control connection"}
		h.kill(m)
	}
}

// programGone kills a wrapper whose program has ended.
func (h *Head) programGone(m *member) {
	if !m.state.there() || m.ending != nil || h.phase == released {
		return
	}
	m.ending = &ending{job.CauseExit, "its program ended, but the wrapper that started it did not"}
	h.kill(m)
}

// words prints the last report of a process, unless another process has sent the same one:
// replicas also fail in the same way.
func (h *Head) words(m *member, text string) {
	if slices.Contains(h.lastWords, text) {
		h.detailf("%s says the same: %s", m.name(), firstLine(text))
		return
	}
	h.lastWords = append(h.lastWords, text)
	h.act(Log{Level: Note, At: h.elapsed(), Text: prefix(m.process, text)})
}

// runFailed handles the report that run has failed in a process, which exits now.
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

// handled records that a process has handled a verdict. ago is the age of the message.
func (h *Head) handled(m *member, epoch uint64, ago time.Duration) {
	f := h.failure(epoch)
	if f == nil { // the verdict was on a joiner that was dismissed
		return
	}
	if f.HandledBy(m.process, h.elapsed()-ago) {
		h.detailf("%v has handled the death of %v", m.process, f.Process)
	}
}

// failure returns the report's entry about a verdict, nil if the verdict was on a process
// that was dismissed.
func (h *Head) failure(epoch uint64) *runreport.Failure {
	for i := range h.failures {
		if h.failures[i].Epoch == epoch {
			return &h.failures[i]
		}
	}
	return nil
}
