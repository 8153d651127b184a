//go:build system

package notices

import (
	"fmt"
	"regexp"
	"strings"
)

var toInterrupt = regexp.MustCompile(`ends with a last set of files \((SIGTERM to \w+|SIGTERM to the agent of a host)\): nowhere to go`)

// refusal returns why the agent of a host ended at once when it received its notice, "" if it
// is not known to have done that.
func (f *facts) refusal(e *end, host int) string {
	said, mark := e.said(), f.names[host]+": intrarun: agent: ended by SIGTERM: "
	if g, ok := e.guests[host]; ok {
		said, mark = g.said, "intrarun: agent: ended by SIGTERM: "
	}
	_, why, _ := strings.Cut(said, mark)
	why, _, _ = strings.Cut(why, "\n")
	return why
}

// ended counts the agents that ended at once when they received their notice.
func (f *facts) ended(e *end) (n int) {
	for host := range f.names {
		if f.refusal(e, host) != "" {
			n++
		}
	}
	return n
}

// refusals judges whether hosts left that had to, and whether the others could not. Where
// nothing was damaged, it requires that the job ends well, or with the code for a job that had
// nowhere to go.
func (f *facts) refusals(e *end) string {
	if f.paused() {
		return ""
	}
	calm := !f.damaged()
	for i := range f.notices {
		n := &f.notices[i]
		why := ""
		switch n.how {
		case toAgent:
			why = f.refusal(e, n.host)
			// A successor does not print the messages of an agent that ends at once.
			calm = calm && why == "" && strings.Contains(e.said(), f.names[n.host]+" is to leave (")
		case toHead:
			first, _, _ := strings.Cut(e.said(), " is the new head") // a successor may refuse the notice to its own host
			if _, after, ok := strings.Cut(first, "SIGTERM: this host is to leave: "); ok {
				why, _, _ = strings.Cut(after, "\n")
			}
		case byCommand:
			why = n.denied
		}
		if why != "" {
			if wrong := f.untrue(n, why); wrong != "" {
				return fmt.Sprintf("NOT TRUE: host %d could not leave: %s, but %s", n.host, why, wrong)
			}
		}
	}
	if !calm {
		return ""
	}
	if e.report == nil {
		return "nothing was killed, and no head has ended the job"
	}
	if n := len(e.report.Rollbacks); n > 0 {
		return fmt.Sprintf("nothing was killed, and the job rolled back %d times", n)
	}
	may := e.report.ExitCode == 0
	switch {
	case strings.Contains(e.said(), "SIGTERM: this host is to leave: ") && !toInterrupt.MatchString(e.said()):
		may = may || e.report.ExitCode == terminated
	case toInterrupt.MatchString(e.said()):
		may = may || e.report.ExitCode == interrupted || e.report.ExitCode == terminated && strings.Contains(e.said(), "no set of files was complete in time")
	}
	if !may {
		return fmt.Sprintf("nothing was killed, and the job ended with %d: %s", e.report.ExitCode, e.report.Error)
	}
	return ""
}

// untrue returns an objection to the reason for which a host could not leave, "" if there is
// none or if it cannot be judged.
func (f *facts) untrue(n *noticed, why string) string {
	switch {
	case strings.Contains(why, "no other host has a free slot"):
		switch {
		case !f.schedule.replace:
			return "the job replaces no process"
		case n.calm && n.need == 0:
			return "all ranks there had replicas elsewhere"
		case n.calm && n.free > 0:
			return fmt.Sprintf("%d slots were free", n.free)
		}
	case strings.Contains(why, "the job replaces no process"):
		switch {
		case f.schedule.replace:
			return "it was begun with -replace"
		case n.calm && n.need == 0:
			return "all ranks there had replicas elsewhere"
		}
	case strings.Contains(why, "its rank has reached no safe point yet, or a rank has finished"):
		if n.calm && f.inMiddle(n) {
			return fmt.Sprintf("that was %v after the start of a job that takes %v", n.at, f.quiet)
		}
	case strings.Contains(why, "no other host keeps its decisions"), strings.Contains(why, "no host that stays keeps its decisions"):
		if n.calm {
			return "two other hosts kept them"
		}
	case strings.Contains(why, "the job has not begun, or ends"), strings.Contains(why, "is no intrarun of yours that runs a job"):
		if n.calm && f.inMiddle(n) {
			return "it was in the middle"
		}
	case strings.Contains(why, "is neither a host of the job nor a process"):
		if n.host < f.schedule.hosts && f.inUse(n.host) {
			return "it is"
		}
	default:
		return "the judge does not know this reason"
	}
	return ""
}

// inMiddle reports whether every rank had certainly reached a safe point at a notice, and none
// had finished.
func (f *facts) inMiddle(n *noticed) bool {
	return n.at > f.quiet/4 && n.at < f.quiet/2
}

// interrupted judges a job that ended because its processes had nowhere to go.
func (f *facts) interrupted(e *end) string {
	switch m := toInterrupt.FindStringSubmatch(e.said()); {
	case !f.schedule.files:
		return "the job was interrupted, and writes no files"
	case m == nil:
		return "the job was interrupted, and does not say why"
	case len(f.notices) == 0:
		return "the job was interrupted without a notice"
	}
	n := f.notices[0]
	if full := f.schedule.replace && n.free == 0 || !f.schedule.replace; len(f.notices) == 1 && n.calm && f.inMiddle(&n) && !f.paused() && (n.need == 0 || !full) {
		return fmt.Sprintf("the job was interrupted, but %d processes of host %d had %d free slots elsewhere", n.need, n.host, n.free)
	}
	return ""
}
