//go:build system

package systemtest

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// done records the faults that really occurred in a run.
type done struct {
	hostOf  map[job.Process]int
	killed  map[job.Process]bool
	stopped map[job.Process]bool
	hosts   map[int]bool // hosts that were lost, or whose agents were
	// cuts contains how long two hosts, the lower one first, did not reach each other in at
	// least one direction.
	cuts map[[2]int]time.Duration
	// pauses is the longest time for which the machine delayed the simulated network, which
	// disconnects all hosts.
	pauses time.Duration
	// succeeded means that a head on another host has taken over.
	succeeded bool
	headless  bool // the first head was lost, but its host had no fault
}

// deciders is the number of hosts that keep the head's decisions at first: the hosts 0 to
// 2. The fourth host keeps them only after one of these was lost.
const deciders = 3

// undecided reports whether a head may have been unable to reach a majority of the hosts
// that keep its decisions.
func (d *done) undecided() bool {
	for head := range deciders {
		reached := 0
		for other := range deciders {
			if other != head && !d.gone(head) && !d.gone(other) && !d.cut(head, other) {
				reached++
			}
		}
		if reached == 0 {
			return true
		}
	}
	return false
}

// majority reports whether two of the hosts that keep the decisions were certainly able to
// continue.
func (d *done) majority() bool {
	for a := range deciders {
		for b := range a {
			if !d.gone(a) && !d.gone(b) && !d.cut(a, b) {
				return true
			}
		}
	}
	return false
}

// gone reports whether a host may have stopped keeping decisions.
func (d *done) gone(host int) bool { return d.hosts[host] || host == 0 && d.headless }

// unreachable reports whether a head may have considered a host lost.
func (d *done) unreachable(host int) bool {
	if d.hosts[host] || d.cut(0, host) || host == 0 && d.pauses > bearable {
		return true
	}
	for head := range chaosHosts { // the fourth host replaces one of the others
		if d.succeeded && d.cut(head, host) {
			return true
		}
	}
	return false
}

// bearable bounds the cuts that a host must survive: a shorter cut loses no
// process.
const bearable = 400 * time.Millisecond

// cut reports whether hosts a and b may have considered each other lost.
func (d *done) cut(a, b int) bool {
	return a != b && d.cuts[[2]int{min(a, b), max(a, b)}]+d.pauses > bearable
}

var (
	lostReplica = regexp.MustCompile(`^rank (\d+) has lost its last replica (\d+)\.(\d+) `)
	brokenLink  = regexp.MustCompile(`^the link between (\d+)\.(\d+) and (\d+)\.(\d+) broke`)
	oneLink     = regexp.MustCompile(`^the link between (\d+\.\d+) and (\d+\.\d+) broke`)
)

// headless is the error of a job whose head was lost without a successor.
const headless = "nobody has taken the head's place"

// judge returns an objection to the end of a run, "" if there is none. want is
// the bits of a run without failures.
func (d *done) judge(ranks int, r *jobRun, hash, want string) string {
	if r.report.Error == headless { // so there is no report
		if !d.majority() {
			return ""
		}
		return "nobody has taken the head's place, but most of the hosts that keep the decisions could reach each other"
	}
	dead := make(map[job.Process]bool)
	alive := make([]int, ranks)
	for i := range alive {
		alive[i] = chaosReplicas
	}
	for _, f := range r.report.Failures {
		if dead[f.Process] {
			return fmt.Sprintf("two verdicts on %v", f.Process)
		}
		dead[f.Process] = true
		alive[f.Process.Rank]--
		if why := d.unfounded(f.Process, f.Cause, f.Detail); why != "" {
			return fmt.Sprintf("false alarm: %v was declared dead (%s: %s), but %s", f.Process, f.Cause, f.Detail, why)
		}
	}
	for _, e := range r.report.Processes {
		if !dead[e.Process] && slices.Contains([]string{"failed", "exited", "killed", "fenced", "lost"}, e.End) {
			return fmt.Sprintf("the end of %v is reported as %q without a verdict", e.Process, e.End)
		}
	}
	for p := range d.killed {
		end := r.report.End(p)
		if end == "left" && strings.HasPrefix(r.report.Error, "this head gives up: ") {
			continue // by then the head was disconnected from the host of the process, or from the hosts that keep its decisions
		}
		if !dead[p] && end != "finished" && end != "ended" {
			return fmt.Sprintf("%v was killed without a verdict, and its end is reported as %q", p, end)
		}
	}
	switch r.code {
	case 0:
		if hash != want {
			return fmt.Sprintf("the result is %q, want %q", hash, want)
		}
		for rank, n := range alive {
			if n == 0 && !strings.Contains(r.stderr, fmt.Sprintf(" %d.0 has finished\n", rank)) && !strings.Contains(r.stderr, fmt.Sprintf(" %d.1 has finished\n", rank)) {
				return fmt.Sprintf("exit code 0, though rank %d lost all replicas before it had finished", rank)
			}
		}
		return ""
	case 3:
		text := r.report.Error
		if !strings.Contains(r.stderr, text) {
			return fmt.Sprintf("standard error does not say %q", text)
		}
		if strings.HasPrefix(text, "this head gives up: ") {
			if d.undecided() {
				return ""
			}
			return fmt.Sprintf("it says %q, but most of the hosts that keep the decisions could reach each other", text)
		}
		if m := lostReplica.FindStringSubmatch(text); m != nil {
			rank, _ := strconv.Atoi(m[1])
			if m[2] != m[1] || rank >= ranks || alive[rank] != 0 {
				return fmt.Sprintf("it says %q, but rank %d has %d replicas", text, rank, alive[rank])
			}
			return ""
		}
		if m := brokenLink.FindStringSubmatch(text); m != nil {
			var ends []job.Process
			for i := 1; i < len(m); i += 2 {
				rank, _ := strconv.Atoi(m[i])
				replica, _ := strconv.Atoi(m[i+1])
				ends = append(ends, job.Process{Rank: rank, Replica: replica})
			}
			if ends[0].Rank == ends[1].Rank || alive[ends[0].Rank] != 1 || alive[ends[1].Rank] != 1 || !d.cut(d.hostOf[ends[0]], d.hostOf[ends[1]]) {
				return fmt.Sprintf("it says %q, and that is not so", text)
			}
			return ""
		}
		return fmt.Sprintf("exit code 3, but no rank is named in %q", text)
	}
	return fmt.Sprintf("exit code %d: %s", r.code, r.report.Error)
}

// unfounded explains why no fault justifies a verdict, "" if one does.
func (d *done) unfounded(p job.Process, cause job.Cause, detail string) string {
	host := d.hostOf[p]
	switch cause {
	case job.CauseInjected: // the launcher has killed the process
		return ""
	case job.CauseSignal:
		if d.killed[p] {
			return ""
		}
		return "nobody has killed it"
	case job.CauseFenced:
		if d.stopped[p] {
			return ""
		}
		return "nobody has stopped it"
	case job.CauseHost:
		if d.unreachable(host) {
			return ""
		}
		return fmt.Sprintf("host %d was there and could be reached", host)
	case job.CauseLink:
		if m := oneLink.FindStringSubmatch(detail); m != nil {
			var ends []int
			for q, h := range d.hostOf {
				if q.String() == m[1] || q.String() == m[2] {
					ends = append(ends, h)
				}
			}
			if len(ends) == 2 && d.cut(ends[0], ends[1]) {
				return ""
			}
		}
		return "nothing was cut there"
	}
	return "processes do not end like this by themselves"
}

// The judge of chaos rejects every wrong run.
func TestChaosJudge(t *testing.T) {
	proc := func(rank, replica int) job.Process { return job.Process{Rank: rank, Replica: replica} }
	hosts := map[job.Process]int{proc(0, 0): 0, proc(1, 0): 1, proc(0, 1): 2, proc(1, 1): 3}
	lost := "rank 1 has lost its last replica 1.1 at 0.1 s (host: x)"
	gaveUp := "this head gives up: most of the hosts that keep its decisions cannot be reached"
	link := "the link between 0.1 and 1.1 broke: x"
	for _, c := range []struct {
		name     string
		done     done
		failures []jobtest.Failure
		ends     []jobtest.End
		code     int
		text     string
		hash     string
		want     string
	}{
		{"nothing happens", done{}, nil, nil, 0, "", "same", ""},
		{"another result", done{}, nil, nil, 0, "", "other", "the result is"},
		{"killed", done{killed: map[job.Process]bool{proc(1, 0): true}}, []jobtest.Failure{{Process: proc(1, 0), Cause: job.CauseSignal}}, nil, 0, "", "same", ""},
		{"killed, and its end does not say it", done{killed: map[job.Process]bool{proc(1, 0): true}}, nil, []jobtest.End{{Process: proc(1, 0), End: "left"}}, 0, "", "same", "without a verdict"},
		{"killed, and the head gave up before that was decided", done{headless: true, killed: map[job.Process]bool{proc(1, 0): true}}, nil, []jobtest.End{{Process: proc(1, 0), End: "left"}}, 3, gaveUp, "", ""},
		{"an end without a verdict", done{headless: true}, nil, []jobtest.End{{Process: proc(1, 0), End: "killed"}}, 3, gaveUp, "", "without a verdict"},
		{"killed without a verdict", done{killed: map[job.Process]bool{proc(1, 0): true}}, nil, nil, 0, "", "same", "without a verdict"},
		{"not killed", done{}, []jobtest.Failure{{Process: proc(1, 0), Cause: job.CauseSignal}}, nil, 0, "", "same", "nobody has killed it"},
		{"not stopped", done{}, []jobtest.Failure{{Process: proc(1, 0), Cause: job.CauseFenced}}, nil, 0, "", "same", "nobody has stopped it"},
		{"ended by itself", done{}, []jobtest.Failure{{Process: proc(1, 0), Cause: job.CauseExit}}, nil, 0, "", "same", "by themselves"},
		{"twice", done{hosts: map[int]bool{1: true}}, []jobtest.Failure{{Process: proc(1, 0), Cause: job.CauseHost}, {Process: proc(1, 0), Cause: job.CauseHost}}, nil, 0, "", "same", "two verdicts"},
		{"host lost", done{hosts: map[int]bool{1: true}}, []jobtest.Failure{{Process: proc(1, 0), Cause: job.CauseHost}}, nil, 0, "", "same", ""},
		{"another host lost", done{hosts: map[int]bool{2: true}}, []jobtest.Failure{{Process: proc(1, 0), Cause: job.CauseHost}}, nil, 0, "", "same", "host 1 was there"},
		{"long cut from the head", done{cuts: map[[2]int]time.Duration{{0, 1}: time.Second}}, []jobtest.Failure{{Process: proc(1, 0), Cause: job.CauseHost}}, nil, 0, "", "same", ""},
		{"short cut from the head", done{cuts: map[[2]int]time.Duration{{0, 1}: bearable / 2}}, []jobtest.Failure{{Process: proc(1, 0), Cause: job.CauseHost}}, nil, 0, "", "same", "host 1 was there"},
		{"cut from another host", done{cuts: map[[2]int]time.Duration{{1, 2}: time.Second}}, []jobtest.Failure{{Process: proc(1, 0), Cause: job.CauseHost}}, nil, 0, "", "same", "host 1 was there"},
		{"link cut", done{cuts: map[[2]int]time.Duration{{2, 3}: time.Hour}}, []jobtest.Failure{{Process: proc(1, 1), Cause: job.CauseLink, Detail: link}}, nil, 0, "", "same", ""},
		{"other link cut", done{cuts: map[[2]int]time.Duration{{1, 3}: time.Hour}}, []jobtest.Failure{{Process: proc(1, 1), Cause: job.CauseLink, Detail: link}}, nil, 0, "", "same", "nothing was cut"},
		{"rank lost", done{hosts: map[int]bool{1: true, 3: true}}, []jobtest.Failure{{Process: proc(1, 0), Cause: job.CauseHost}, {Process: proc(1, 1), Cause: job.CauseHost}}, nil, 3, lost, "", ""},
		{"rank lost and not seen", done{hosts: map[int]bool{1: true, 3: true}}, []jobtest.Failure{{Process: proc(1, 0), Cause: job.CauseHost}, {Process: proc(1, 1), Cause: job.CauseHost}}, nil, 0, "", "same", "lost all replicas"},
		{"rank not lost", done{hosts: map[int]bool{1: true}}, []jobtest.Failure{{Process: proc(1, 0), Cause: job.CauseHost}}, nil, 3, lost, "", "rank 1 has 1 replicas"},
		{"nothing said", done{hosts: map[int]bool{1: true}}, nil, nil, 3, "oops", "", "no rank is named"},
		{"link between the last", done{hosts: map[int]bool{0: true, 1: true}, cuts: map[[2]int]time.Duration{{2, 3}: time.Hour}}, []jobtest.Failure{{Process: proc(0, 0), Cause: job.CauseHost}, {Process: proc(1, 0), Cause: job.CauseHost}}, nil, 3, link, "", ""},
		{"link between others", done{cuts: map[[2]int]time.Duration{{2, 3}: time.Hour}}, nil, nil, 3, link, "", "that is not so"},
		{"decisions lost", done{hosts: map[int]bool{1: true, 2: true}}, nil, nil, 3, gaveUp, "", ""},
		{"decisions cut off", done{cuts: map[[2]int]time.Duration{{0, 1}: time.Second, {0, 2}: time.Second}}, nil, nil, 3, gaveUp, "", ""},
		{"decisions kept", done{hosts: map[int]bool{3: true}, cuts: map[[2]int]time.Duration{{0, 1}: time.Second}}, nil, nil, 3, gaveUp, "", "could reach each other"},
		{"cut from a later head", done{succeeded: true, cuts: map[[2]int]time.Duration{{1, 3}: time.Second}}, []jobtest.Failure{{Process: proc(1, 1), Cause: job.CauseHost}}, nil, 0, "", "same", ""},
		{"cut from a host that was never the head", done{cuts: map[[2]int]time.Duration{{1, 3}: time.Second}}, []jobtest.Failure{{Process: proc(1, 1), Cause: job.CauseHost}}, nil, 0, "", "same", "host 3 was there"},
		{"no other head", done{hosts: map[int]bool{0: true, 2: true}, killed: map[job.Process]bool{proc(0, 1): true}}, nil, nil, 3, headless, "", ""},
		{"no other head after intrarun", done{headless: true, hosts: map[int]bool{2: true}}, nil, nil, 3, headless, "", ""},
		{"no other head of two", done{hosts: map[int]bool{0: true}}, nil, nil, 3, headless, "", "could reach each other"},
		{"program failed", done{}, nil, nil, 1, "x", "", "exit code 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.done.hostOf = hosts
			got := c.done.judge(2, &jobRun{code: c.code, stderr: c.text, report: jobtest.Report{Error: c.text, Failures: c.failures, Processes: c.ends}}, c.hash, "same")
			if c.want == "" {
				require.Empty(t, got)
			} else {
				require.Contains(t, got, c.want)
			}
		})
	}
}
