//go:build system

package notices

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

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
	Rollbacks []struct {
		At   float64 `json:"at_seconds"`
		Lost []int   `json:"lost"`
	} `json:"rollbacks"`
	Drains []struct {
		Host   string `json:"host"`
		Reason string `json:"reason"`
	} `json:"drains"`
	Backup *struct {
		Complete int `json:"complete"`
	} `json:"backup"`
}

// end is the visible end of a job.
type end struct {
	code        int    // exit code of the intrarun that the user started, -1 if it was killed
	first, next string // output of that intrarun and of its successors
	stdout      string // of all heads
	report      *report
	guests      map[int]ending // of the hosts that have joined, or tried to
}

// ending is the end of a command.
type ending struct {
	code int
	said string
}

// Exit codes.
const (
	lost        = 3
	left        = 5
	handedOver  = 6
	interrupted = 7
	terminated  = 143
)

func (e *end) said() string { return e.first + e.next }

// judge returns an objection to the end of a job, "" if there is none. want is the bits of a
// job without failures.
func (f *facts) judge(e *end, want string) string {
	for _, check := range []func(*end) string{f.commands, f.deaths, f.rollbacks, f.refusals, f.joins} {
		if why := check(e); why != "" {
			return why
		}
	}
	if e.report == nil {
		if f.undecided || f.paused() {
			return ""
		}
		return "no head has ended the job, but most of the hosts that keep the decisions were there"
	}
	switch e.report.ExitCode {
	case 0:
		return f.bits(e, want)
	case lost:
		return f.lost(e)
	case interrupted:
		return f.interrupted(e)
	case terminated:
		if len(f.notices) > 0 && strings.Contains(e.said(), "SIGTERM: this host is to leave: ") || f.insisted[0] && f.schedule.drain || strings.Contains(e.said(), "no set of files was complete in time") {
			return ""
		}
	}
	return fmt.Sprintf("exit code %d: %s", e.report.ExitCode, e.report.Error)
}

// paused reports whether the machine has delayed the simulated network long enough for hosts to
// consider each other lost.
func (f *facts) paused() bool { return f.pauses > bearable }

// commands judges the exit codes of the intrarun that the user started and of those of the hosts
// that have joined.
func (f *facts) commands(e *end) string {
	switch {
	case e.code == handedOver:
		if !f.mayLeave(0) || e.next == "" && !f.undecided {
			return "the head has handed over, and its host was not to leave, or there is no other head"
		}
	case e.code == -1:
		if !f.headKilled && !f.taken[0] {
			return "intrarun was killed, and not by this test"
		}
	case e.next != "":
		if !f.paused() {
			return fmt.Sprintf("intrarun has ended with %d, and there is another head", e.code)
		}
	case e.report == nil:
		return fmt.Sprintf("exit code %d and no report", e.code)
	case e.report.ExitCode != e.code:
		return fmt.Sprintf("exit code %d, in the report %d", e.code, e.report.ExitCode)
	}
	for host, g := range e.guests {
		joined := strings.Contains(g.said, "has joined the job")
		may := []int{1}
		switch {
		case f.taken[host]:
			may = append(may, -1)
		case !joined: // it was too late: the head, or the file with the secret, was gone
			may = append(may, 2)
		case e.report != nil && !f.insisted[host]:
			may = []int{e.report.ExitCode}
		}
		if f.mayLeave(host) {
			may = append(may, left)
			if strings.Contains(g.said, "ended by SIGTERM") {
				may = append(may, 1)
			}
		}
		if !slices.Contains(may, g.code) {
			return fmt.Sprintf("the agent of host %d, which has joined, ended with %d, want one of %v: %s", host, g.code, may, g.said)
		}
	}
	return ""
}

// bits judges the result of a job that has ended well. Each of several heads may have printed
// it.
func (f *facts) bits(e *end, want string) string {
	n := 0
	for line := range strings.Lines(e.stdout) {
		if got := bits(line); got != want {
			return fmt.Sprintf("WRONG BITS: got %.200q, want %.200q", got, want)
		}
		n++
	}
	if heads := 1 + strings.Count(e.next, "is the new head"); n < 1 || n > heads {
		return fmt.Sprintf("the result was printed %d times by %d heads", n, heads)
	}
	return ""
}

// bits returns the output of a program without times.
func bits(stdout string) string {
	var all map[string]any
	if err := json.Unmarshal([]byte(stdout), &all); err != nil {
		return fmt.Sprintf("%v: %s", err, stdout)
	}
	delete(all, "seconds")
	b, err := json.Marshal(all)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

var (
	ofHost = regexp.MustCompile(`host (\S+) has not been heard from`)
	leaves = regexp.MustCompile(`^it leaves \(|^its host leaves`)
)

// deaths returns an objection to a death without a cause, "" if there is none.
func (f *facts) deaths(e *end) string {
	if e.report == nil || f.paused() {
		return ""
	}
	for _, d := range e.report.Failures {
		places := f.placesOf(e, d.Process.String())
		ok := false
		switch d.Cause {
		case job.CauseSignal:
			ok = f.killed[d.Process.String()] || slices.ContainsFunc(places, func(host int) bool { return f.taken[host] || f.endedAt(e, host) })
		case job.CauseHost:
			m := ofHost.FindStringSubmatch(d.Detail)
			if m == nil {
				break
			}
			host := slices.Index(f.names, m[1])
			ok = f.taken[host] || f.endedAt(e, host)
		case job.CauseFenced:
			ok = leaves.MatchString(d.Detail) && (f.moves > 0 || slices.ContainsFunc(places, f.mayLeave))
		}
		if !ok {
			return fmt.Sprintf("false alarm: %v was declared dead (%s: %s), and nothing was done to it", d.Process, d.Cause, d.Detail)
		}
	}
	return ""
}

// endedAt reports whether the agent of a host may have ended at its notice. A successor does
// not print the messages of the agents of other hosts.
func (f *facts) endedAt(e *end, host int) bool {
	return f.insisted[host] || f.mayLeave(host) && (e.next != "" || f.refusal(e, host) != "")
}

// placesOf returns the hosts on which a process has run.
func (f *facts) placesOf(e *end, process string) (all []int) {
	for _, m := range joinedAs.FindAllStringSubmatch(e.said(), -1) {
		if m[1] == process {
			all = append(all, slices.Index(f.names, m[3]))
		}
	}
	return all
}

// inUse reports whether the job uses a host of its start. It leaves out hosts that it does not
// need.
func (f *facts) inUse(host int) bool {
	for _, at := range f.places {
		if at >= host {
			return true
		}
	}
	return false
}

// together reports whether all processes began on one host.
func (f *facts) together() bool {
	hosts := make(map[int]bool)
	for _, at := range f.places {
		hosts[at] = true
	}
	return len(hosts) == 1
}

// rollbacks returns an objection to a rollback for a rank that had a live replica, "" if there
// is none.
func (f *facts) rollbacks(e *end) string {
	if e.report == nil {
		return ""
	}
	for _, b := range e.report.Rollbacks {
		if !f.schedule.backup || len(b.Lost) == 0 {
			return fmt.Sprintf("the job rolled back at %.3f s without a backup, or for no rank", b.At)
		}
		for _, rank := range b.Lost {
			if n := f.leftOf(e, rank, b.At); n > 0 {
				return fmt.Sprintf("the job rolled back at %.3f s for rank %d, of which %d replicas lived", b.At, rank, n)
			}
		}
	}
	return ""
}

// leftOf returns how many replicas of a rank cannot have died up to a time.
func (f *facts) leftOf(e *end, rank int, at float64) int {
	n := f.schedule.degrees[rank]
	if f.schedule.ranged {
		n = 1
	}
	dead := make(map[job.Process]bool)
	for _, d := range e.report.Failures {
		if d.Process.Rank == rank && d.At <= at {
			dead[d.Process] = true
		}
	}
	return max(n-len(dead), 0)
}

// joins returns an objection to a host that has left without a notice, "" if there is none.
func (f *facts) joins(e *end) string {
	if e.report == nil {
		return ""
	}
	for _, d := range e.report.Drains {
		host := slices.Index(f.names, d.Host)
		if !f.mayLeave(host) && f.moves == 0 {
			return fmt.Sprintf("host %d was to leave (%s) without a notice", host, d.Reason)
		}
	}
	return ""
}

var (
	lostReplica = regexp.MustCompile(`^rank (\d+) has lost its last replica (\d+)\.(\d+) at ([\d.]+) s`)
	notBack     = regexp.MustCompile(`; rank (\d+) could not be brought back: (.*)$`)
	cannotGo    = regexp.MustCompile(`^the job cannot go back to safe point \d+, as it had to since rank \d+ was lost: the last process that held the state of rank \d+ is dead`)
)

// lost judges the reason of a job that was lost.
func (f *facts) lost(e *end) string {
	text := e.report.Error
	wrong := func(why string) string { return fmt.Sprintf("NOT TRUE: it says %q, but %s", text, why) }
	if strings.HasPrefix(text, "this head gives up: ") {
		if f.undecided || f.paused() {
			return ""
		}
		return wrong("most of the hosts that keep the decisions were there")
	}
	if cannotGo.MatchString(text) {
		if len(e.report.Rollbacks) == 0 {
			return wrong("the job did not roll back")
		}
		return ""
	}
	m := lostReplica.FindStringSubmatch(text)
	if m == nil {
		return wrong("that is no reason")
	}
	rank, _ := strconv.Atoi(m[1])
	at, _ := strconv.ParseFloat(m[4], 64)
	if m[2] != m[1] || rank >= len(f.schedule.degrees) {
		return wrong("there is no such rank")
	}
	if n := f.leftOf(e, rank, at+0.001); n > 0 {
		return wrong(fmt.Sprintf("%d replicas of that rank live", n))
	}
	back := notBack.FindStringSubmatch(text)
	switch {
	case !f.schedule.replace && back == nil:
		return ""
	case !f.schedule.replace || back == nil:
		return wrong("processes are replaced only with -replace")
	}
	if why := f.notBack(e, back[2]); why != "" {
		return wrong(why)
	}
	return ""
}

// notBack checks why, the reason that the job gives for not restoring a rank that has lost all its
// replicas. It returns what contradicts that reason, or "" if the reason can be true.
func (f *facts) notBack(e *end, why string) string {
	complete := strings.Contains(e.said(), "the first backup is complete")
	moved := strings.Contains(e.said(), " has moved from ")
	switch {
	case strings.HasPrefix(why, "no backup was asked for"):
		if f.schedule.backup {
			return "one was asked for"
		}
	case strings.HasPrefix(why, "no backup was complete yet"):
		if complete {
			return "one was complete"
		}
	case strings.HasPrefix(why, "all processes that held the last backup of rank"):
		// A process that moves does not take the copies of other ranks with it.
		places := len(f.killed) + len(f.taken) + len(f.insisted) + f.ended(e)
		if !complete || places < 2 && !moved && !f.together() {
			return "they were on two hosts, and only one of these was lost"
		}
	case strings.HasPrefix(why, "no process takes its place: ") && strings.HasSuffix(why, "no other host has a free slot"):
		processes, slots := 0, 0
		for _, n := range f.schedule.degrees {
			processes += n
		}
		for host := range f.schedule.hosts {
			if !f.taken[host] && !f.insisted[host] && !f.mayLeave(host) && f.inUse(host) {
				slots += f.schedule.slots
			}
		}
		if slots >= processes {
			return fmt.Sprintf("%d slots were there for %d processes", slots, processes)
		}
	case strings.HasPrefix(why, "no process takes its place: "), strings.HasPrefix(why, "its replacements died too"):
		if len(f.killed)+len(f.taken)+len(f.insisted)+f.ended(e) < 2 {
			return "only one process or host was lost"
		}
	default:
		return "the judge does not know this reason"
	}
	return ""
}
