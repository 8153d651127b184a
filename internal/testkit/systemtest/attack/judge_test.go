//go:build system

package attack

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

// report is the part of a report that the judge reads.
type report struct {
	ExitCode int    `json:"exit_code"`
	Error    string `json:"error"`
	Failures []struct {
		Process job.Process `json:"process"`
		At      float64     `json:"at_seconds"`
		Cause   job.Cause   `json:"cause"`
		Detail  string      `json:"detail"`
	} `json:"failures"`
	Kills []struct {
		Process job.Process `json:"process"`
		When    string      `json:"when"`
		Fired   bool        `json:"fired"`
	} `json:"kills"`
	Weibull *struct {
		Injections []struct {
			Process job.Process `json:"process"`
		} `json:"strikes"`
	} `json:"weibull"`
	Replacements []struct {
		Process job.Process `json:"process"`
		Joined  float64     `json:"joined_seconds"`
	} `json:"replacements"`
	Rollbacks []rollback           `json:"rollbacks"`
	SDC       runreport.Corruption `json:"sdc"`
	Flips     []runreport.Flip     `json:"flips"`
	Backup    *struct {
		Complete int `json:"complete"`
	} `json:"backup"`
	Processes []struct {
		Process job.Process `json:"process"`
		End     string      `json:"end"`
	} `json:"processes"`
}

// rollback is one rollback of the report.
type rollback struct {
	At        float64      `json:"at_seconds"`
	Lost      []int        `json:"lost"`
	SafePoint uint64       `json:"safe_point"`
	Seconds   float64      `json:"seconds"`
	Blamed    *job.Process `json:"convicted"`
	Differed  []int        `json:"differed"`
}

// wrong reports whether an error was the reason for the rollback.
func (b rollback) wrong() bool { return b.Blamed != nil || len(b.Differed) > 0 }

// deed lists the actions from outside on the processes of a job.
type deed struct {
	stopped, killed map[job.Process]bool
	interrupted     bool // intrarun got SIGINT
	gone            bool // intrarun was killed
}

// verdict holds all data about a job that the judge needs.
type verdict struct {
	degrees                  []int
	replace, backup, weibull bool
	spares                   int
	deed                     deed
	code                     int
	report                   *report // nil: no report
	stderr                   string
	bits, want               string // bits of the output, and the wanted bits; bits is empty if nothing was printed
	corrupt                  *corruption
	escaped                  bool // the bits are wrong, and this is permitted
}

// history contains the lives of the processes according to the report.
type history struct {
	alive  map[job.Process]bool
	deaths map[job.Process]int // number of declared deaths
	last   map[int]job.Process // by rank: the last process that died while it was live
	lastAt map[int]float64
	wrong  string
}

type event struct {
	at   float64
	join bool
	p    job.Process
}

func (v *verdict) history() *history {
	h := &history{alive: make(map[job.Process]bool), deaths: make(map[job.Process]int), last: make(map[int]job.Process), lastAt: make(map[int]float64)}
	for _, p := range job.Processes(v.degrees) {
		h.alive[p] = true
	}
	var all []event
	for _, f := range v.report.Failures {
		all = append(all, event{f.At, false, f.Process})
	}
	for _, r := range v.report.Replacements {
		all = append(all, event{r.Joined, true, r.Process})
	}
	slices.SortStableFunc(all, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	for _, e := range all {
		switch {
		case e.join && h.alive[e.p]:
			h.wrong = fmt.Sprintf("%v was replaced at %.3f s while it lived", e.p, e.at)
		case e.join:
			h.alive[e.p] = true
		case h.alive[e.p]:
			h.alive[e.p] = false
			h.deaths[e.p]++
			h.last[e.p.Rank], h.lastAt[e.p.Rank] = e.p, e.at
		case !v.replace && v.spares == 0:
			h.wrong = fmt.Sprintf("two verdicts on %v", e.p)
		default:
			h.deaths[e.p]++ // the dead process had no slot yet
		}
	}
	return h
}

// left counts the replicas of a rank that are live at the end.
func (h *history) left(rank int) int {
	n := 0
	for p, alive := range h.alive {
		if p.Rank == rank && alive {
			n++
		}
	}
	return n
}

// judge returns an objection to the end of a job, "" if there is none.
func (v *verdict) judge() string {
	switch {
	case v.deed.gone && v.code == -1:
		return ""
	case v.report == nil && v.deed.interrupted && (v.code == 130 || v.code == -1): // the job had not begun, or the signal ended intrarun
		return ""
	case v.report == nil:
		return fmt.Sprintf("exit code %d and no report", v.code)
	case v.report.ExitCode != v.code:
		return fmt.Sprintf("exit code %d, in the report %d", v.code, v.report.ExitCode)
	}
	h := v.history()
	if h.wrong != "" {
		return h.wrong
	}
	if why := v.unfounded(h); why != "" {
		return why
	}
	if why := v.rollbacks(); why != "" {
		return why
	}
	if why := v.corruption(); why != "" {
		return why
	}
	switch v.code {
	case 0:
		return v.well(h)
	case 1, 4:
		return v.endsWrong()
	case 3:
		return v.explained(h)
	case 130:
		if v.deed.interrupted {
			return ""
		}
	}
	return fmt.Sprintf("exit code %d: %s", v.code, v.report.Error)
}

// unfounded returns an objection to a death without a cause, "" if there is none.
func (v *verdict) unfounded(h *history) string {
	injected := make(map[job.Process]int)
	for _, k := range v.report.Kills {
		if k.Fired {
			injected[k.Process]++
		}
	}
	if v.report.Weibull != nil {
		for _, s := range v.report.Weibull.Injections {
			injected[s.Process]++
		}
	}
	count := make(map[job.Process]int)
	for _, f := range v.report.Failures {
		ok := false
		switch f.Cause {
		case job.CauseInjected:
			count[f.Process]++
			ok = count[f.Process] <= injected[f.Process]
		case job.CauseSignal:
			ok = v.deed.killed[f.Process]
		case job.CauseFenced:
			ok = v.deed.stopped[f.Process] || v.foundWrong(f.Process, f.Detail)
		case job.CauseExit, job.CausePanic:
			ok = len(v.fired()) > 0 // its program failed because of an injected error
		}
		if !ok {
			return fmt.Sprintf("false alarm: %v was declared dead (%s: %s) and nothing was done to it", f.Process, f.Cause, f.Detail)
		}
	}
	for p := range v.deed.killed {
		if h.deaths[p] == 0 && !v.over(p) {
			return fmt.Sprintf("%v was killed, and nobody says so", p)
		}
	}
	return ""
}

// over reports whether a process ended with the job or before.
func (v *verdict) over(p job.Process) bool {
	for _, q := range v.report.Processes {
		if q.Process == p && (q.End == "finished" || q.End == "ended" || q.End == "dismissed") {
			return true
		}
	}
	return false
}

// rollbacks returns an objection to a rollback for a rank that was live, "" if there is
// none.
func (v *verdict) rollbacks() string {
	for _, b := range v.report.Rollbacks {
		if !v.backup {
			return "the job went back without a backup"
		}
		if len(b.Lost) == 0 && b.Blamed == nil && len(b.Differed) == 0 {
			return fmt.Sprintf("the job went back at %.3f s, and for nobody", b.At)
		}
		for _, rank := range b.Lost {
			dead := 0
			for replica := range v.degrees[rank] {
				for _, f := range v.report.Failures {
					if f.Process == (job.Process{Rank: rank, Replica: replica}) && f.At <= b.At {
						dead++
						break
					}
				}
			}
			if dead < v.degrees[rank] {
				return fmt.Sprintf("the job went back at %.3f s for rank %d, of which %d of %d replicas had died", b.At, rank, dead, v.degrees[rank])
			}
		}
	}
	return ""
}

// well judges a job that ended well.
func (v *verdict) well(h *history) string {
	if v.escaped = v.bits != v.want && v.mayEscape(h); v.bits != v.want && !v.escaped {
		return fmt.Sprintf("WRONG BITS: got %.200q, want %.200q", v.bits, v.want)
	}
	for rank, degree := range v.degrees {
		finished := false
		for replica := range degree {
			finished = finished || strings.Contains(v.stderr, fmt.Sprintf(" %d.%d has finished\n", rank, replica))
		}
		if h.left(rank) == 0 && !finished {
			return fmt.Sprintf("exit code 0, though rank %d lost all replicas before it had finished", rank)
		}
	}
	for _, k := range v.report.Kills {
		if warned := strings.Contains(v.stderr, fmt.Sprintf("warning: -kill %v@%s was never reached", k.Process, k.When)); !k.Fired && !warned {
			return fmt.Sprintf("nothing is said of -kill %v@%s, which was never reached", k.Process, k.When)
		}
	}
	return ""
}

var (
	lostReplica = regexp.MustCompile(`^rank (\d+) has lost its last replica (\d+)\.(\d+) at [\d.]+ s \(([a-z ]+):`)
	notBack     = regexp.MustCompile(`; rank (\d+) could not be brought back: (.*)$`)
	cannotGo    = regexp.MustCompile(`^the job cannot go back to safe point (\d+), as it had to since rank (\d+) (?:was lost|was in doubt|had a process that was convicted of a wrong result, [\d.]+): ` +
		`the last process that held the state of rank (\d+) is dead: (\d+)\.(\d+), at [\d.]+ s \(`)
)

// explained judges the error of a job that was lost.
func (v *verdict) explained(h *history) string {
	text := v.report.Error
	if !strings.Contains(v.stderr, text) {
		return fmt.Sprintf("standard error does not say %q", text)
	}
	why := ""
	if m := cannotGo.FindStringSubmatch(text); m != nil {
		why = v.onTheWay(h, m)
	} else if m := lostReplica.FindStringSubmatch(text); m != nil {
		why = v.rankLost(h, m)
	} else {
		return fmt.Sprintf("exit code 3, but no rank is named in %q", text)
	}
	if why != "" {
		return fmt.Sprintf("NOT TRUE: it says %q, but %s: %s", text, why, v.tell())
	}
	return ""
}

// onTheWay returns an objection to the reason that a backup was lost during the rollback
// to it.
func (v *verdict) onTheWay(h *history, m []string) string {
	n := len(v.report.Rollbacks)
	if n == 0 {
		return "the job did not go back"
	}
	last, holder := v.report.Rollbacks[n-1], job.Process{Rank: number(m[4]), Replica: number(m[5])}
	diedAt := -1.0
	for _, f := range v.report.Failures {
		if f.Process == holder {
			diedAt = f.At
		}
	}
	switch {
	case number(m[3]) >= len(v.degrees):
		return "there is no such rank"
	case last.Seconds > 0:
		return fmt.Sprintf("it had come back from the rollback at %.3f s", last.At)
	case fmt.Sprint(last.SafePoint) != m[1]:
		return fmt.Sprintf("it went back to safe point %d", last.SafePoint)
	case last.Blamed == nil && !slices.Contains(last.Lost, number(m[2])) && !slices.Contains(last.Differed, number(m[2])):
		return fmt.Sprintf("it went back for %v", last.Lost)
	case diedAt < last.At:
		return fmt.Sprintf("%v died before, at %.3f s", holder, diedAt)
	case h.alive[holder]:
		return fmt.Sprintf("%v lives", holder)
	}
	return ""
}

// rankLost returns an objection to the reason that a rank was lost.
func (v *verdict) rankLost(h *history, m []string) string {
	text := v.report.Error
	rank, replica := number(m[2]), number(m[3])
	if number(m[1]) != rank || rank >= len(v.degrees) {
		return "that are two ranks"
	}
	if n := h.left(rank); n > 0 {
		return fmt.Sprintf("%d replicas of rank %d live", n, rank)
	}
	if last := h.last[rank]; last != (job.Process{Rank: rank, Replica: replica}) && !v.tie(h, rank, replica) {
		return fmt.Sprintf("the last one to die was %v", last)
	}
	back := notBack.FindStringSubmatch(text)
	switch {
	case back == nil && (v.replace || v.spares > 0):
		return "it does not say why it did not come back"
	case back == nil:
		return ""
	case number(back[1]) != rank:
		return "that are two ranks"
	}
	return v.reason(back[2], h)
}

// tie reports whether another replica died at the same moment as the last one.
func (v *verdict) tie(h *history, rank, replica int) bool {
	for _, f := range v.report.Failures {
		if f.Process == (job.Process{Rank: rank, Replica: replica}) && h.lastAt[rank]-f.At < 1e-6 {
			return true
		}
	}
	return false
}

// reason returns an objection to the reason why a rank was not restored.
func (v *verdict) reason(why string, h *history) string {
	complete := 0
	if v.report.Backup != nil {
		complete = v.report.Backup.Complete
	}
	switch {
	case strings.HasPrefix(why, "no backup was asked for"):
		if v.backup {
			return "one was asked for"
		}
	case strings.HasPrefix(why, "a job of one rank has no other rank"):
		if len(v.degrees) > 1 {
			return "there are other ranks"
		}
	case strings.HasPrefix(why, "no backup was complete yet"):
		if complete > 0 {
			return fmt.Sprintf("%d were complete", complete)
		}
	case strings.HasPrefix(why, "no process is left to take its place"):
		if v.replace {
			return "-replace starts others"
		}
		if used := strings.Count(v.stderr, " takes the place of "); used < v.spares {
			return fmt.Sprintf("only %d of %d spares are gone", used, v.spares)
		}
	case strings.HasPrefix(why, "no process takes its place: "):
		return "there was a program to be started, or the copy of it"
	case strings.HasPrefix(why, "all processes that held the last backup of rank"):
		if complete == 0 {
			return "there was none"
		}
	case strings.HasPrefix(why, "its replacements died too"):
		if !slices.ContainsFunc(slices.Collect(maps.Values(h.deaths)), func(n int) bool { return n > 1 }) { // two deaths in one slot
			return "no replacement died"
		}
	default:
		return "the judge does not know this reason"
	}
	return ""
}

// tell returns the events of a job as text, in order.
func (v *verdict) tell() string {
	var all []struct {
		at   float64
		what string
	}
	add := func(at float64, format string, args ...any) {
		all = append(all, struct {
			at   float64
			what string
		}{at, fmt.Sprintf(format, args...)})
	}
	for _, f := range v.report.Failures {
		add(f.At, "%v died", f.Process)
	}
	for _, r := range v.report.Replacements {
		add(r.Joined, "%v came back", r.Process)
	}
	for _, b := range v.report.Rollbacks {
		add(b.At, "went back for %v in %.3f s", b.Lost, b.Seconds)
	}
	slices.SortStableFunc(all, func(a, b struct {
		at   float64
		what string
	}) int {
		return cmp.Compare(a.at, b.at)
	})
	var b strings.Builder
	for _, one := range all {
		fmt.Fprintf(&b, "%.4f %s; ", one.at, one.what)
	}
	return b.String()
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
