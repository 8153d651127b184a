package launch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// Exit codes of intrarun.
const (
	ExitOK       = 0
	ExitFailed   = 1 // a rank's last replica ended by itself, or checked mode found something
	ExitRefused  = 2 // nothing was started, or the handshake refused it
	ExitLost     = 3 // a rank's last replica was killed, fenced or lost with its host
	ExitDiverged = 4 // replicas proved to differ
)

// status is what the head holds of one process.
type status int

const (
	running status = iota
	finished
	coming // it is to take the place of a dead one, and has no state yet
	dead
)

// ledger is the ordered list of verdicts and what follows from it: which ranks
// are left, and how the job ends. The first thing that decides counts.
type ledger struct {
	degrees  []int
	status   map[job.Process]status
	drained  map[int]bool // ranks without which the others can do
	verdicts []job.Verdict
	last     map[int]job.Verdict // on the last process of each rank that died while it lived
	returns  bool                // whether a rank is lost is said by whoever can bring it back

	decided bool
	code    int
	text    string
}

func newLedger(degrees []int) *ledger {
	return &ledger{degrees: degrees, status: make(map[job.Process]status), drained: make(map[int]bool), last: make(map[int]job.Verdict)}
}

// finish records that run returned nil in p.
func (l *ledger) finish(p job.Process) {
	if l.status[p] == running {
		l.status[p] = finished
	}
}

// drain records that nobody lacks anything that p, which has finished, sent.
func (l *ledger) drain(p job.Process) {
	if l.status[p] == finished {
		l.drained[p.Rank] = true
	}
}

// die declares dead the process that began as p in that incarnation, 0 meaning
// the first. A rank is never lost, even if all its replicas die, once one of
// them has finished and all that it sent has been received. at is the time
// since all had joined.
func (l *ledger) die(p job.Process, incarnation uint32, cause job.Cause, detail string, at time.Duration) job.Verdict {
	v := job.Verdict{Epoch: uint64(len(l.verdicts) + 1), Process: p, Incarnation: incarnation, Cause: cause, Detail: detail}
	l.verdicts = append(l.verdicts, v)
	if s := l.status[p]; s == running || s == finished {
		l.last[p.Rank] = v
	}
	l.status[p] = dead
	if l.alive(p.Rank) == 0 && !l.drained[p.Rank] && !l.returns {
		l.lose(v, at)
	}
	return v
}

// beyond decides a job that cannot be brought back from a loss.
func (l *ledger) beyond(loss *recovery.Loss, at time.Duration) {
	if l.decided {
		return
	}
	if loss.Back {
		v := l.of(loss.By)
		l.decide(exitBy(v), fmt.Sprintf("%v: %v, at %.3f s (%s: %s)", loss, v.Process, at.Seconds(), v.Cause, firstLine(v.Detail)))
		return
	}
	l.lose(l.last[loss.Rank], at)
	l.text += "; " + loss.Error()
}

// of returns the last verdict on a process.
func (l *ledger) of(p job.Process) (last job.Verdict) {
	for _, v := range l.verdicts {
		if v.Process == p {
			last = v
		}
	}
	return last
}

// exitBy is the exit code of a job that ends with that death.
func exitBy(v job.Verdict) int {
	if v.Cause == job.CauseExit || v.Cause == job.CausePanic {
		return ExitFailed
	}
	return ExitLost
}

// back: the job goes back to a time before any rank had finished.
func (l *ledger) back() {
	clear(l.drained)
	for p, s := range l.status {
		if s == finished {
			l.status[p] = running
		}
	}
}

// lose decides the job by the verdict on a rank's last replica.
func (l *ledger) lose(v job.Verdict, at time.Duration) {
	rank, code := v.Process.Rank, exitBy(v)
	var others []string
	for _, w := range l.verdicts {
		if w.Process.Rank == rank && w.Process != v.Process {
			others = append(others, fmt.Sprintf("%v (%s)", w.Process, w.Cause))
		}
	}
	text := fmt.Sprintf("rank %d has lost its last replica %v at %.3f s (%s: %s)", rank, v.Process, at.Seconds(), v.Cause, firstLine(v.Detail))
	if len(others) > 0 {
		text += ", after " + strings.Join(others, ", ")
	}
	if code == ExitLost {
		text += fmt.Sprintf("; %d replicas of rank %d would have saved it (-r %[1]d or -degrees)", l.degrees[rank]+1, rank)
	}
	l.decide(code, text)
}

// decide ends the job unless something has ended it before.
func (l *ledger) decide(code int, text string) {
	if !l.decided {
		l.decided, l.code, l.text = true, code, text
	}
}

// alive counts the replicas of a rank that are not dead.
func (l *ledger) alive(rank int) int {
	n := 0
	for replica := range l.degrees[rank] {
		if s := l.status[job.Process{Rank: rank, Replica: replica}]; s == running || s == finished {
			n++
		}
	}
	return n
}

// complete: every process that lives has finished.
func (l *ledger) complete() bool {
	for _, p := range job.Processes(l.degrees) {
		if s := l.status[p]; s == running || s == coming {
			return false
		}
	}
	return true
}

// victim chooses which end of a broken link has to go: the one whose rank has
// more live replicas, the higher one of two equals. ok is false if both are
// the last of their ranks, which suspicion never kills. One that nobody needs
// yet goes in any case.
func (l *ledger) victim(p, q job.Process) (job.Process, bool) {
	if p.Compare(q) > 0 {
		p, q = q, p
	}
	if l.status[p] == coming {
		return p, true
	}
	if l.status[q] == coming {
		return q, true
	}
	a, b := l.alive(p.Rank), l.alive(q.Rank)
	switch {
	case a <= 1 && b <= 1:
		return job.Process{}, false
	case a > b:
		return p, true
	}
	return q, true
}

// filling reports whether one of these ranks is to get another replica.
func (l *ledger) filling(ranks ...int) bool {
	for p, s := range l.status {
		if s == coming && slices.Contains(ranks, p.Rank) {
			return true
		}
	}
	return false
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}
