//go:build system

package attack

import (
	"fmt"
	"slices"
	"strings"

	"github.com/intrahpc/intra/internal/job"
)

// corruption lists what a job compares: all tasks, a share of them, or states.
type corruption struct {
	dual, samples, state bool
	apart                bool // the replicas of a rank share no memory, so each decides what to share
}

// wrong is an error that was injected on request.
type wrong struct {
	process job.Process
	what    job.FlipPoint // empty: the error occurs repeatedly, in tasks
}

// fired lists the errors that have occurred.
func (v *verdict) fired() (all []wrong) {
	for _, f := range v.report.Flips {
		if !f.Fired {
			continue
		}
		who, rest, _ := strings.Cut(f.Spec, "@")
		who, _, _ = strings.Cut(who, ",")
		what, _, _ := strings.Cut(rest, ":")
		p, err := job.ParseProcess(who)
		if err != nil {
			panic(err) // impossible: the report repeats the request
		}
		all = append(all, wrong{p, job.FlipPoint(what)})
	}
	return all
}

// blamed reports whether a process was blamed.
func (v *verdict) blamed(p job.Process) bool {
	for i := range v.report.SDC.Blamed {
		if v.report.SDC.Blamed[i].Process == p {
			return true
		}
	}
	return false
}

// foundWrong reports whether a process was fenced because of a comparison.
func (v *verdict) foundWrong(p job.Process, detail string) bool {
	if strings.HasPrefix(detail, "convicted of ") {
		return v.blamed(p)
	}
	return strings.HasPrefix(detail, "the state of its rank at safe point ") && v.disputed(p.Rank)
}

// disputed reports whether the job has rolled back because of a difference in a rank, or a
// failure of its program.
func (v *verdict) disputed(rank int) bool {
	for _, b := range v.report.Rollbacks {
		if slices.Contains(b.Differed, rank) {
			return true
		}
	}
	return false
}

// corruption returns an objection to the results of the comparisons, "" if there is none.
func (v *verdict) corruption() string {
	fired, sdc := v.fired(), v.report.SDC
	if len(fired) == 0 {
		for _, b := range v.report.Rollbacks {
			if b.Blamed != nil || len(b.Differed) > 0 {
				return fmt.Sprintf("nothing was wrong, and the job went back at %.3f s", b.At)
			}
		}
		if sdc.Differed > 0 || len(sdc.Blamed) > 0 {
			return fmt.Sprintf("nothing was wrong, and it is said that something differed: %+v", sdc)
		}
	}
	for _, b := range v.report.Rollbacks {
		if b.Blamed != nil && !v.blamed(*b.Blamed) {
			return fmt.Sprintf("the job went back for %v, which was not convicted", b.Blamed)
		}
	}
	for _, c := range sdc.Blamed {
		if !slices.ContainsFunc(fired, func(w wrong) bool { return w.process == c.Process || v.misled(w, c.Process) }) {
			return fmt.Sprintf("false conviction of %v", c.Process)
		}
	}
	if v.code == 0 && sdc.Repaired != sdc.Differed {
		return fmt.Sprintf("exit code 0, and %d of %d differences were repaired", sdc.Repaired, sdc.Differed)
	}
	return ""
}

// misled reports whether the majority of its rank may have blamed p for a consequence of
// an error that did not reach all replicas. That error is a wrong message, or the wrong
// result of a task that was not compared. Such a result is the same on all replicas if
// there are backups, or if the replicas share memory.
func (v *verdict) misled(w wrong, p job.Process) bool {
	switch {
	case v.degrees[p.Rank] < 3:
		return false
	case w.what == "" || w.what == job.FlipTask:
		return v.corrupt.samples && v.corrupt.apart && !v.backup
	}
	return len(v.degrees) > 1 && w.what == job.FlipMessage
}

// endsWrong judges a job that ended because of an error: no repair was possible, or it did
// not help.
func (v *verdict) endsWrong() string {
	text, complete := v.report.Error, 0
	if v.report.Backup != nil {
		complete = v.report.Backup.Complete
	}
	switch {
	case len(v.fired()) == 0:
		return fmt.Sprintf("exit code %d, and nothing was wrong: %s", v.code, text)
	case v.code == 4 && !strings.HasPrefix(text, "silent corruption") && !strings.HasPrefix(text, "divergence"):
		return fmt.Sprintf("exit code 4: %s", text)
	case v.code == 1 && !lostReplica.MatchString(text):
		return fmt.Sprintf("exit code 1: %s", text)
	case complete == 0 || !v.backup:
		return ""
	case slices.ContainsFunc(v.report.Rollbacks, func(b rollback) bool {
		return b.Blamed != nil || len(b.Differed) > 0
	}):
		return "" // the same error occurred again
	case strings.Contains(v.stderr+text, "there is no backup to roll back to from before that"), strings.Contains(v.stderr+text, "there is no backup to roll back to that is known to be sound"):
		return ""
	}
	return fmt.Sprintf("exit code %d, though there was a backup to roll back to: %s", v.code, text)
}

// mayEscape reports whether wrong bits are permitted. They are if only a share of the
// tasks is compared, and an error was not found, was not repaired, or occurred in the only
// process of its rank.
func (v *verdict) mayEscape(h *history) bool {
	for _, w := range v.fired() {
		task := w.what == "" || w.what == job.FlipTask
		switch {
		case v.degrees[w.process.Rank] == 1 || v.left(w.process):
			return true
		case !task || !v.corrupt.samples:
		case !v.backup || !v.blamed(w.process) || h.deaths[w.process] == 0:
			return true
		}
	}
	return false
}

// left reports whether a replica of p's rank, other than p, has died without being blamed.
func (v *verdict) left(p job.Process) bool {
	for _, f := range v.report.Failures {
		if f.Process.Rank == p.Rank && f.Process != p && !v.foundWrong(f.Process, f.Detail) {
			return true
		}
	}
	return false
}
