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

// deaths handles ends of processes: it finds their causes, proposes the verdicts, and acts on
// the verdicts once they are kept.
type deaths struct {
	*desk
	hosts    *hosts
	recovery *queue
	members  *members
	plan     *plan
	judge    *judge

	failures  []runreport.Failure // one for each verdict on a process that was not dismissed
	lastWords []string            // last reports of failed programs that have been printed
}

// exited handles the exit of a process. The head has handled all its messages before.
func (ds *deaths) exited(m *member, e Exit) {
	if m.exit != nil {
		return
	}
	m.exit = &e
	if !m.state.there() {
		if !m.settled && (m.state == dead || m.state == ended) { // the process died under an earlier head
			ds.members.finishOutput(m, true, m.verdict != nil && itself(m.verdict.Cause))
		}
		return
	}
	switch {
	case m.state == dismissed:
		ds.members.dismissed(m)
		ds.members.finishOutput(m, true, false)
		return
	case m.role == Spare:
		ds.members.spareExited(m)
		return
	}
	clean := ds.phase == released && m.state == finished && m.ending == nil
	if clean || ds.phase == over && m.ending == nil {
		if m.end = "ended"; clean {
			m.end = "finished"
		}
		m.to(ended)
		ds.members.finishOutput(m, !clean, false)
		return
	}
	c := m.cause()
	if tool := ds.members.tool(m); tool != "" {
		c.detail += ", under " + tool
	}
	if m.end == "" {
		m.end = endBy(c.cause)
	}
	m.to(gone)
	ds.propose(decision.Entry{Kind: decision.Died, Process: m.process, Incarnation: m.incarnation, Cause: c.cause, Text: c.detail})
	ds.members.finishOutput(m, true, itself(c.cause) || e.Quit)
}

// hostLost handles the loss of a node and of the processes there. The verdicts on those
// processes follow. Spares have no peers and get no verdict.
func (ds *deaths) hostLost(e decision.Entry) {
	why := ds.hosts.why(e.Node)
	switch {
	case ds.state.HasLeft(e.Node):
		ds.warnf("host %s has left", ds.hostName(e.Node))
	case e.Node == FirstHead && slices.Contains(ds.state.Resigned, FirstHead):
		ds.detailf("the first intrarun has ended, after it had handed over")
	default:
		ds.warnf("%s", why)
	}
	for _, m := range ds.members.all {
		switch {
		case m.from.Node != e.Node:
		case m.role == Spare && m.state.there():
			m.ending = &ending{job.CauseHost, why}
			ds.members.spareExited(m)
		case !m.settled && m.exit == nil && (m.state == dead || m.state == ended): // the process died under an earlier head, and its Exited will not be repeated
			ds.members.finishOutput(m, true, false)
		}
	}
}

// declare applies a verdict, and sends it to the other processes.
func (ds *deaths) declare(v decision.Verdict) {
	v = ds.members.explain(v)
	m := ds.members.holder(v.Process, v.Incarnation)
	m.verdict = &v
	if m.vacant() {
		ds.tell(v)
		return
	}
	if v.Relieved || v.Withdrawn && m.state != ended {
		ds.letGo(m, v)
		return
	}
	was, lived := m.state, m.alive()
	switch was {
	case ended: // the process was let go
	case gone:
		m.to(dead)
	default: // the process was lost with its host
		if m.to(dead); m.end == "" {
			m.end = endBy(v.Cause)
		}
		ds.members.finishOutput(m, true, false)
	}
	ds.tell(v)
	if was == ended {
		return
	}
	ds.members.succeeded(m)
	ds.fail(m, v)
	ds.sayDead(m)
	if m.knows() {
		ds.judge.undescribed(m.process.Rank)
	}
	if lived {
		ds.members.last[v.Process.Rank] = v
	}
	ds.members.conclude(v)
	ds.plan.died(m)
}

// tell sends a verdict to all processes.
func (ds *deaths) tell(v decision.Verdict) {
	for _, o := range ds.members.all {
		if o.informed && o.state.there() {
			ds.send(o, &job.Message{Kind: job.KindVerdict, Verdict: &v.Verdict})
		}
	}
}

// letGo kills a process whose slot another process has taken over, or whose rank is to have
// fewer replicas. The process has stopped in the cut that decides that, and does not continue.
// letGo also kills a process that was to relieve another one, if that one died first.
func (ds *deaths) letGo(m *member, v decision.Verdict) {
	m.end = endOf(v)
	ds.kill(m)
	m.settled = m.settled || !m.made
	m.to(dead)
	ds.tell(v)
	if v.Withdrawn {
		ds.plan.died(m)
		return
	}
	ds.members.succeeded(m)
}

// endOf returns the end that the report gives for a process that was let go.
func endOf(v decision.Verdict) string {
	switch {
	case v.Withdrawn:
		return "dismissed"
	case v.Cause == job.CauseDropped:
		return "dropped"
	}
	return "moved"
}

// declareAll declares the processes that died together, and then checks the consequences of
// their deaths.
func (ds *deaths) declareAll(verdicts []job.Verdict) {
	if len(verdicts) == 0 {
		return
	}
	for _, v := range verdicts {
		ds.declare(ds.state.Verdicts[v.Epoch-1])
	}
	if verdicts[0].Cause == job.CauseHost {
		ds.recovery.notify(func(d *recovery.Head, now time.Duration) []recovery.Action {
			ds.recovery.together = false
			return d.Conclude(now)
		})
	}
	ds.settle()
	ds.members.introduceArrived()
	ds.members.startIfReady()
	ds.members.releaseIfComplete()
}

// sayDead reports a death to the user, unless the message about the end of the job or about
// a rollback reports it.
func (ds *deaths) sayDead(m *member) {
	rank := m.process.Rank
	why := fmt.Sprintf("%s: %s", m.verdict.Cause, firstLine(m.verdict.Detail))
	switch left := ds.members.alive(rank); {
	case m.role == Joiner:
		ds.warnf("the replacement for %v is dead (%s)", m.process, why)
	case left > 0:
		ds.warnf("%v is dead (%s), %d of %d replicas of rank %d left", m.process, why, left, ds.config.Degrees[rank], rank)
	case ds.state.Drained[rank]:
		ds.warnf("%v is dead (%s), after rank %d had finished", m.process, why, rank)
	}
}

// fail records a verdict for the report.
func (ds *deaths) fail(m *member, v decision.Verdict) {
	f := runreport.NewFailure(v.Verdict, v.At)
	f.Fenced = m.fenced.Seconds()
	if v.Cause == job.CauseHost {
		f.Evidence = ds.hosts.evidence(m.from.Node)
	}
	ds.failures = append(ds.failures, f)
	ds.act(Declared{v})
}

// unreachable handles the loss of the control connection to a process.
func (ds *deaths) unreachable(m *member, why Silence, text string) {
	if !m.state.there() {
		return
	}
	switch {
	case why == SilenceUndelivered:
		ds.fence(m, ending{job.CauseFenced, "it cannot be sent a message that it needs: " + text})
		return
	case m.hello == nil && why != SilenceEnd && (m.role == Joiner || ds.members.late(m)):
		ds.fence(m, ending{job.CauseFenced, "it cannot join: " + text})
	case m.hello == nil && why != SilenceEnd:
		ds.members.refuse(fmt.Sprintf("%v cannot join: %s", m.from.ID, text))
	case m.hello == nil: // the process has exited or will exit; its agent reports that
		return
	case why == SilenceNonsense:
		ds.fence(m, ending{job.CauseFenced, fmt.Sprintf("it sent a malformed message: %s", text)})
	}
	ds.after(lastWords, timer{kind: killUnreachable, m: m})
}

// killUnreachable kills a process that lives without its control connection: it would wait for
// events that cannot reach it.
func (ds *deaths) killUnreachable(m *member) {
	if m.state.there() && m.ending == nil && ds.phase <= working { // else it is killed anyway
		m.ending = &ending{job.CauseExit, "it closed its control connection"}
		ds.kill(m)
	}
}

// programGone kills a wrapper whose program has ended.
func (ds *deaths) programGone(m *member) {
	if !m.state.there() || m.ending != nil || ds.phase == released {
		return
	}
	m.ending = &ending{job.CauseExit, "its program ended, but the wrapper that started it did not"}
	ds.kill(m)
}

// runFailed handles the report that run has failed in a process, which exits now. Replicas of a
// rank often fail with the same text, so runFailed prints each text once.
func (ds *deaths) runFailed(m *member, f job.Failure) {
	if text := fmt.Sprintf("%s: %s", f.Kind, f.Text); slices.Contains(ds.lastWords, text) {
		ds.detailf("%s says the same: %s", m.name(), firstLine(text))
	} else {
		ds.lastWords = append(ds.lastWords, text)
		ds.act(Log{Level: Note, At: ds.elapsed(), Text: prefix(m.process, text)})
	}
	m.end = "failed"
	m.ending = &ending{job.CauseExit, f.Text}
	code, found := ExitOK, ""
	switch f.Kind {
	case job.FailPanic:
		m.ending.cause = job.CausePanic
	case job.FailDivergence:
		code, found = ExitDiverged, "divergence, found by"
	case job.FailCorruption:
		code, found = ExitDiverged, "silent corruption, found by"
	case job.FailRefused:
		code, found = ExitRefused, "refused by"
	case job.FailFinding:
		code, found = ExitFailed, "finding of"
	}
	if found != "" {
		ds.decide(code, fmt.Sprintf("%s %v: %s", found, m.process, firstLine(f.Text)), m.endpoint())
		ds.settle()
	}
	ds.after(lastWords, timer{kind: killMember, m: m})
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
func (ds *deaths) handled(m *member, epoch uint64, ago time.Duration) {
	i := slices.IndexFunc(ds.failures, func(f runreport.Failure) bool { return f.Epoch == epoch })
	if i >= 0 && ds.failures[i].HandledBy(m.process, ds.elapsed()-ago) { // else the verdict was on a joiner that was dismissed
		ds.detailf("%v has handled the death of %v", m.process, ds.failures[i].Process)
	}
}
