package simulation

import (
	"fmt"
	"strings"
	"syscall"

	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// judge checks a decision to end the job with a loss. The job must not be able to recover,
// for the reason that the decision names.
func (l *leader) judge(e decision.Entry) {
	w := l.w
	if w.spec.moves && (e.Code == head.ExitInterrupted || e.Code == head.InterruptCode(syscall.SIGTERM)) {
		l.judgeInterrupted(e)
		return
	}
	if e.Code != head.ExitLost {
		w.fail("exit code %d, though every process was killed: %s", e.Code, e.Text)
	}
	switch {
	case strings.HasPrefix(e.Text, "the link between "):
		l.judgeLink(e.Text)
	case strings.HasPrefix(e.Text, "the job cannot go back "):
		l.judgeBack(e.Text)
	default:
		l.judgeLost(e.Text)
	}
}

// judgeLink checks a decision with this reason: the link between two last replicas broke,
// and the job cannot recover without either of them.
func (l *leader) judgeLink(text string) {
	w := l.w
	w.seen["lost: a link"]++
	var p, q job.Process
	if _, err := fmt.Sscanf(text, "the link between %d.%d and %d.%d broke", &p.Rank, &p.Replica, &q.Rank, &q.Replica); err != nil {
		w.fail("%v: %s", err, text)
		return
	}
	broken := false
	for _, r := range w.broken {
		broken = broken || r.p.self == p && r.q.self == q || r.p.self == q && r.q.self == p
	}
	if !broken || l.alive(p.Rank) > 1 || l.alive(q.Rank) > 1 {
		w.fail("%s: not so", text)
	}
}

// saveable reports three things: whether every rank has a live replica, whether all of a
// backup is held according to the head, and whether all of it may be held.
func (l *leader) saveable() (alive, held, maybe bool) {
	alive, held = true, l.truth.complete > 0
	maybe = held
	for rank := range l.w.spec.degrees {
		alive = alive && (l.alive(rank) > 0 && !l.truth.rolling || l.state.Drained[rank])
		held = held && l.copies(rank, l.truth.complete, true) > 0
		maybe = maybe && l.copies(rank, l.truth.complete, false) > 0
	}
	return alive, held, maybe
}

// judgeBack checks a decision with this reason: the backup of the rollback is lost.
func (l *leader) judgeBack(text string) {
	w, t := l.w, &l.truth
	var number uint64
	var since, rank int
	var by job.Process
	if _, err := fmt.Sscanf(text, "the job cannot go back to safe point %d, as it had to since rank %d was lost: the last process that held the state of rank %d is dead: %d.%d,",
		&number, &since, &rank, &by.Rank, &by.Replica); err != nil {
		w.fail("%v: %s", err, text)
		return
	}
	w.seen["lost: a backup, during the rollback to it"]++
	dead := false
	for _, p := range w.processes {
		dead = dead || p.self == by && p.declared
	}
	if !t.rolling || number != t.complete || l.copies(rank, number, true) > 0 || !dead {
		w.fail("%s: not so (rolling %v, complete %d, %d copies, %v dead %v)", text, t.rolling, t.complete, l.copies(rank, number, true), by, dead)
	}
}

// judgeLost checks a decision with this reason: a rank has lost its last replica and
// cannot be restored.
func (l *leader) judgeLost(text string) {
	w := l.w
	var rank int
	var last job.Process
	if _, err := fmt.Sscanf(text, "rank %d has lost its last replica %d.%d at", &rank, &last.Rank, &last.Replica); err != nil {
		w.fail("%v: %s", err, text)
		return
	}
	// The job needs a finished rank again if it rolls back because of another rank.
	finished := l.state.Drained[rank]
	for other := range w.spec.degrees {
		finished = finished && (l.alive(other) > 0 || l.state.Drained[other])
	}
	if l.alive(rank) > 0 || finished || last.Rank != rank || last != l.lastOf(rank) {
		w.fail("%s: not so, %d are alive, and %v died last", text, l.alive(rank), l.lastOf(rank))
	}
	_, why, replaced := strings.Cut(text, fmt.Sprintf("; rank %d could not be brought back: ", rank))
	if replaced != w.spec.replaces() {
		w.fail("%s: no reason why it is not restored", text)
	}
	if !replaced {
		w.seen["lost: no process is replaced"]++
		return
	}
	w.seen["lost: "+why]++
	alive, held, maybe := l.saveable()
	if alive || held && !l.exhausted() {
		w.fail("the job was ended (%s) although every rank has a live replica, or all of a backup is held", text)
	}
	// A new head may not know yet which processes hold which copies.
	if l.truth.rolling && !maybe && (l.term == 0 || !l.exhausted()) {
		w.fail("%s: not so, a backup is lost during the rollback to it", text)
	}
	b := w.spec.backup
	for part, so := range map[string]bool{
		"no backup was asked for":     b == recovery.Policy{},
		"a job of one rank":           len(w.spec.degrees) == 1,
		"no backup was complete yet":  l.truth.complete == 0,
		"all processes that held":     l.truth.complete > 0 && !held,
		"it cannot be started":        l.truth.refused,
		"no other host":               !l.room(),
		"no spare process is left":    l.tooFewSpares(),
		"no process is left":          l.tooFewSpares(),
		"its replacements died too":   l.exhausted(),
		"its program ended by itself": false,
	} {
		if strings.Contains(why, part) && !so {
			w.fail("%s: not so", text)
		}
	}
}

// lastOf returns the process of a rank that died last, among those that had the state of
// the rank.
func (l *leader) lastOf(rank int) (last job.Process) {
	for _, v := range l.state.Verdicts {
		lived := v.Incarnation <= firstLife
		for _, r := range l.state.Replaced {
			lived = lived || r.Process == v.Process && r.Incarnation == v.Incarnation
		}
		if v.Process.Rank == rank && lived && !v.Withdrawn && !v.Relieved {
			last = v.Process
		}
	}
	return last
}
