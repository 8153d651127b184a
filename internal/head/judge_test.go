package head

import (
	"fmt"
	"slices"
	"strings"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// judge checks a job that is over, and the summary of the head.
func (w *world) judge() {
	s := w.head.Summary()
	w.seen[fmt.Sprint("exit code ", s.Code)]++
	if !w.head.retired && !w.head.abandoned {
		w.judgeProcesses(s)
	}
	switch s.Code {
	case ExitOK:
		for rank := range w.spec.degrees {
			if !w.through(rank) {
				w.failf("the job ended well although rank %d has not finished", rank)
			}
		}
	case ExitFailed, ExitLost:
		w.judgeLoss(s)
	case ExitRefused:
		if !w.refused {
			w.failf("the job was refused: %s", s.Text)
		}
	case ExitDiverged:
		w.judgeStates(s)
	case ExitInterrupted:
		w.checkInterrupted(s)
	default:
		if s.Code == 143 && w.state.Ending != nil && w.state.Ending.Until > 0 && !w.hadSet {
			break // there was not enough time for the first set
		}
		if s.Code == 143 && len(w.notified) > 0 {
			break // the agent that is the head was given notice, and could not leave
		}
		if !w.signal || s.Code != 130 && s.Code != 143 {
			w.failf("exit code %d: %s", s.Code, s.Text)
		}
	}
	if !w.head.retired {
		w.judgeLog(s)
	}
	if s.Code != ExitOK && w.state.Ending == nil && w.harmless() {
		w.failf("no fault was injected, but the job ends with %d: %s", s.Code, s.Text)
	}
}

// judgeStates checks a job that ended because of different states: it could not roll back, or
// rolling back has not helped.
func (w *world) judgeStates(s Summary) {
	backs := make(map[job.Process]map[uint32]bool) // the blamed processes of each slot
	for _, b := range w.state.Rollbacks {
		if c := b.Blamed; c != nil {
			if backs[c.Process] == nil {
				backs[c.Process] = make(map[uint32]bool)
			}
			backs[c.Process][c.Incarnation] = true
		}
	}
	for p, all := range backs {
		if strings.HasPrefix(s.Text, fmt.Sprintf("silent corruption: %v was convicted of a wrong result, and the job has rolled back", p)) && len(all) == mostTimes {
			return
		}
	}
	switch {
	case strings.HasPrefix(s.Text, "silent corruption, found by ") && w.seen["results differ"] > 0:
		if w.hadBackup && len(w.state.Verdicts) == 0 && len(w.state.Rollbacks) == 0 {
			w.failf("%s, although it has not rolled back", s.Text)
		}
	case w.seen["states differ"] == 0 || !strings.HasPrefix(s.Text, "silent corruption of rank "):
		w.failf("exit code %d: %s", s.Code, s.Text)
	case strings.HasSuffix(s.Text, "there is no backup to roll back to"):
		if w.hadBackup && len(w.state.Verdicts) == 0 {
			w.failf("%s, although there is one", s.Text)
		}
	case len(w.state.Rollbacks) == 0:
		w.failf("%s, although it has not rolled back", s.Text)
	}
}

// harmless reports whether losses of heads were the only faults of the job.
func (w *world) harmless() bool {
	for what := range w.seen {
		for _, harm := range []string{"killed", "host is lost", "stopped", "link is broken", "cannot be started", "comes about", "ends by itself", "states differ", "results differ", "a program fails", "is convicted", "kept died", "kept lost"} {
			if strings.Contains(what, harm) {
				return false
			}
		}
	}
	return !w.signal && !w.retired && len(w.notified) == 0
}

// through reports whether a process of the rank has finished.
func (w *world) through(rank int) bool {
	for _, a := range w.agents {
		for _, p := range a.all {
			if p.process.Rank == rank && p.done {
				return true
			}
		}
	}
	return false
}

// judgeProcesses checks that no process is left, and that the report lists all of them.
func (w *world) judgeProcesses(s Summary) {
	dead := make(map[job.Process]int)
	for _, f := range s.Failures {
		dead[f.Process]++
	}
	for _, p := range s.Processes {
		switch p.End {
		case "failed", "exited", "killed", "fenced", "lost":
			if dead[p.Process.Process]--; dead[p.Process.Process] < 0 {
				w.failf("%v has end %s without such a verdict", p.Process.Process, p.End)
			}
		case "finished", "ended", "dismissed":
		case "moved", "dropped":
			if !slices.ContainsFunc(w.state.Verdicts, func(v decision.Verdict) bool {
				return v.Process == p.Process.Process && v.Incarnation == p.Process.Incarnation && v.Relieved
			}) {
				w.failf("%v was let go without a verdict on it", p.Process)
			}
		default:
			w.failf("%v has the end %q", p.Process.Process, p.End)
		}
	}
	for _, a := range w.agents {
		for _, p := range a.all {
			if !p.dead {
				w.failf("the job is over, but %v lives", p)
			}
		}
	}
	// A process that had ended well when its host was lost is not a failure.
	former := w.state.Verdicts
	for _, f := range s.Failures {
		i := slices.IndexFunc(former, func(v decision.Verdict) bool { return v.Epoch == f.Epoch })
		if i < 0 || former[i].Process != f.Process || former[i].Cause != f.Cause || former[i].Withdrawn || former[i].Relieved {
			w.failf("the report lists %+v, but the verdicts are %+v", f, w.state.Verdicts)
			return
		}
		former = former[i+1:]
	}
}

// judgeLog checks that the kept decisions have taken effect.
func (w *world) judgeLog(s Summary) {
	for p, at := range w.state.Places {
		if s.Code == ExitOK && at.Status == decision.Running {
			w.failf("the job is over, but no kept decision says that %v#%d has left its slot", p, at.Incarnation)
		}
	}
	for _, set := range w.state.Sets {
		if set.Done == nil && set.Abandoned == nil && !w.head.abandoned {
			w.failf("the job is over, but set %d is neither complete nor abandoned", set.Number)
		}
	}
	for i, incarnation := range w.doomed {
		k := w.spec.kills[i]
		for _, a := range w.agents {
			for _, p := range a.all {
				if p.process == k.Process && p.incarnation == incarnation && p.exited && p.status.Text == exitOf(0, 0).Text && !a.lost {
					w.failf("%v was to be killed, but has ended well", p)
				}
			}
		}
	}
}

// judgeLoss checks that a rank was really lost if the job reports its loss.
func (w *world) judgeLoss(s Summary) {
	var rank int
	switch {
	case strings.HasPrefix(s.Text, "this head gives up"), strings.HasPrefix(s.Text, "the head gives up"):
		if !w.retired {
			w.failf("%s", s.Text)
		}
		return
	case strings.Contains(s.Text, "neither has another replica"):
		if w.links == 0 {
			w.failf("%s", s.Text)
		}
		return
	case strings.Contains(s.Text, "cannot go back to safe point"):
		w.seen["lost: the backup"]++
		return
	}
	if _, err := fmt.Sscanf(s.Text, "rank %d has lost its last replica", &rank); err != nil {
		w.failf("exit code %d: %s", s.Code, s.Text)
		return
	}
	if w.state.Drained[rank] && w.spec.backup == 0 && !w.spec.auto { // otherwise all processes are needed again for a rollback
		w.failf("%s, although no process needs the rank", s.Text)
	}
	if w.spec.replace || w.spec.spares > 0 {
		i := strings.LastIndex(s.Text, "could not be brought back: ")
		if i < 0 {
			w.failf("%s, without the reason why it is not restored", s.Text)
			return
		}
		w.seen["lost: "+s.Text[i:]]++
	}
	// All processes of the rank that had its state were dead when the loss was decided.
	for _, p := range job.Processes(w.spec.degrees) {
		if w.config.vacant(p) && !slices.ContainsFunc(w.state.Replaced, func(r decision.Replaced) bool { return r.Process == p }) {
			continue // it never lived
		}
		if p.Rank == rank && !slices.ContainsFunc(w.state.Verdicts, func(v decision.Verdict) bool { return v.Process == p && !v.Withdrawn }) {
			w.failf("%s, although %v never died", s.Text, p)
		}
	}
}
