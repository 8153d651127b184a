package head

import (
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// dismiss ends a joiner that the job does not need any more.
func (ms *members) dismiss(p job.Process, incarnation uint32) {
	if ms.wanted[p] == incarnation {
		ms.cancelRequest(p)
	}
	m := ms.holder(p, incarnation)
	if m == nil || !m.coming() {
		return
	}
	ms.detailf("%v no longer needs a replacement", m.process)
	was := m.state
	switch m.to(dismissed); {
	case was == chosen && ms.placed(m): // an earlier head has chosen the process, and has not started it
		m.settled = true
		ms.dismissed(m)
	case was == chosen:
	case was == starting, was == promised: // the process would not understand a message yet
		ms.act(Kill{m.from, syscall.SIGKILL})
	default:
		ms.send(m, &job.Message{Kind: job.KindRelease})
		ms.after(lastWords, timer{kind: killMember, m: m})
	}
}

// dismissed handles the end of a process that was dismissed, or that was never started.
func (ms *members) dismissed(m *member) {
	m.end = "dismissed"
	m.to(ended)
	ms.withdraw(m, "not needed any more")
}

// withdraw proposes the decision that a process has left its slot: it was dismissed, or could
// not be started. The entry becomes a verdict, so that processes with a link to this one learn
// of its end.
func (ms *members) withdraw(m *member, why string) {
	ms.propose(decision.Entry{Kind: decision.Withdrawn, Process: m.process, Incarnation: m.incarnation, Text: why})
}

// withdrawn acts on the kept decision that a process has left its slot.
func (ms *members) withdrawn(e decision.Entry) {
	if e.Process.Rank >= len(ms.config.Degrees) {
		return // recovery already knows the end of a spare
	}
	why := e.Text
	if ms.holder(e.Process, e.Incarnation).end == "dismissed" { // an earlier error text does not count
		why = ""
	}
	ms.recovery.notify(func(d *recovery.Head, now time.Duration) []recovery.Action {
		return d.Refused(e.Process, e.Incarnation, why, false, now)
	})
}

// finishOutput completes the output of a process that has exited, if it has one.
func (ms *members) finishOutput(m *member, died, itself bool) {
	if m.settled = !m.made; m.made {
		ms.act(FinishOutput{To: m.from, Process: m.process, Died: died, Itself: itself})
	}
}

// settled records that the output of an exited process is complete. Only now may the slot go
// to another process.
func (ms *members) settled(m *member) {
	m.settled = true
	ms.fill(m.process)
}
