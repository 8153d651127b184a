//go:build system

package systemtest

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/netns"
	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// TestHeadsAreLost loses the head of a job, and its successor, at times that a seed
// chooses: before all processes have joined, and before, between and right after
// replacements. Jobs have spares, backups and checkpoint files. Each job ends with the
// bits of a job without failures, or reports that a rank was killed before a backup of it
// was complete. INTRA_HEADS=N tries N seeds, INTRA_SEED=S only S.
func TestHeadsAreLost(t *testing.T) {
	t.Parallel()
	first, n := uint64(1), simseed.Environment(t, "INTRA_HEADS", uint64(jobtest.Count(1, 3)))
	if s := simseed.Environment(t, "INTRA_SEED", 0); s > 0 {
		first, n = s, 1
	}
	net := netns.Test(t, headsHosts)
	want := make(map[string]string)
	seen := make(map[string]int)
	for seed := first; seed < first+n; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p := newHeadsPlan(seed)
			for iters := 600; ; iters *= 3 {
				require.Less(t, iters, 100000, "the job has always ended too early: %v", p)
				problem := fmt.Sprintf("-nx 16 -ny 16 -nz 16 -iters %d -json", iters)
				if want[problem] == "" {
					want[problem] = intrarun(t, "-n 2 -r 1", strings.Fields(problem)...).sum(t)
				}
				j := &headsJob{plan: p}
				r := j.run(t, net, strings.Fields(problem))
				require.NotEmpty(t, r.report.Processes, "no head has written a report: %v\nreplay with INTRA_SEED=%d\n%s", p, seed, r.stderr)
				if r.code == 3 && noBackup.MatchString(r.stderr) { // all replicas of a rank were killed too early after other losses
					seen["lost"]++
					return
				}
				require.Zero(t, r.code, "%v\nreplay with INTRA_SEED=%d\n%s", p, seed, r.stderr)
				got := r.sum(t)
				require.Equal(t, want[problem], got, "%v\n%s", p, r.stderr)
				if j.early {
					continue
				}
				for what, n := range map[string]int{"heads lost": j.lost, "replaced": len(r.report.Replacements), "back": len(r.report.Rollbacks)} {
					seen[what] += n
				}
				return
			}
		})
	}
	t.Logf("%d jobs: %v", n, seen)
}

// On any two of these hosts there is room for all processes.
const (
	headsHosts = 5
	headsSlots = 4
)

// headsPlan lists the faults of a job of two ranks with two replicas each.
type headsPlan struct {
	flags  string
	joins  bool     // the head is lost before all processes have joined
	killed []string // killed one after the other, each after the previous one was replaced; a number stands for a whole rank
	hasty  string   // a process that dies right before the head, "" for none
	wait   time.Duration
	how    []string // how each head is lost
}

func (p headsPlan) String() string {
	return fmt.Sprintf("%s; before all have joined: %v; killed %q, and %q right before; the head after %v: %q", p.flags, p.joins, p.killed, p.hasty, p.wait, p.how)
}

func newHeadsPlan(seed uint64) headsPlan {
	rng := rand.New(rand.NewPCG(seed, 9))
	p := headsPlan{flags: "-replace", wait: time.Duration(rng.IntN(400)) * time.Millisecond}
	if rng.IntN(3) == 0 {
		p.flags = "-spares 12"
	}
	backup := rng.IntN(2) == 0
	if backup {
		p.flags += []string{" -backup 7", " -backup auto"}[rng.IntN(2)]
	}
	if rng.IntN(3) == 0 {
		p.flags += " -checkpoint {state} -checkpoint-every 40"
	}
	p.joins = rng.IntN(5) == 0
	if !p.joins {
		for range []int{0, 1, 2, 5}[rng.IntN(4)] {
			p.killed = append(p.killed, fmt.Sprintf("%d.%d", rng.IntN(2), rng.IntN(2)))
		}
		if backup && rng.IntN(2) == 0 {
			p.killed = append(p.killed, fmt.Sprint(rng.IntN(2)))
		}
		if rng.IntN(3) == 0 {
			p.hasty = fmt.Sprintf("%d.0", rng.IntN(2))
		}
		if strings.HasPrefix(p.flags, "-spares") { // the slots of spares are unknown, so no victims can be named
			p.killed, p.hasty = p.killed[:min(1, len(p.killed))], ""
		}
	}
	for range 1 + rng.IntN(2) {
		p.how = append(p.how, []string{"host", "host", "down", "intrarun"}[rng.IntN(4)])
	}
	return p
}

// headsJob is the job of a plan.
type headsJob struct {
	*hostedJob
	plan  headsPlan
	gone  map[string]bool // hosts that were lost
	early bool            // the job has ended before all faults were injected
	lost  int             // number of heads that were lost
}

// noBackup matches the report about a rank that was lost while no backup was complete.
var noBackup = regexp.MustCompile(`could not be brought back: (no backup was complete yet|all processes that held the last backup)`)

var headNow = regexp.MustCompile(`(\S+) is the new head, in place of `)

func (j *headsJob) run(t *testing.T, net *netns.Net, problem []string) jobRun {
	until := joined
	if j.plan.joins {
		until = " has joined: process "
	}
	j.gone = make(map[string]bool)
	flags := strings.ReplaceAll(j.plan.flags, "{state}", filepath.Join(t.TempDir(), "state"))
	j.hostedJob = startHosted(t, net, headsSlots, "-n 2 -r 2 "+flags, problem, until)
	for _, who := range j.plan.killed {
		j.replaced(who)
	}
	for i, how := range j.plan.how {
		if j.early {
			break
		}
		if i > 0 {
			j.settle()
		} else if j.plan.hasty != "" {
			j.kill(j.plan.hasty)
		}
		time.Sleep(j.plan.wait)
		j.loseHead(how)
	}
	return j.over()
}

// replaced kills a process, or all of a rank, and waits until it is replaced.
func (j *headsJob) replaced(who string) {
	processes := []string{who}
	if !strings.Contains(who, ".") {
		processes = []string{who + ".0", who + ".1"}
		j.until(func(now string) bool { return strings.Contains(now, backedUp) })
	}
	said := j.said()
	for _, p := range processes {
		j.kill(p)
	}
	j.until(func(now string) bool {
		for _, p := range processes {
			if strings.Count(now, p+replacedBy) <= strings.Count(said, p+replacedBy) {
				return false
			}
		}
		return true
	})
}

const replacedBy = " is replaced by another process on "

// settle waits until all dead processes are replaced, and three hosts keep the decisions
// again.
func (j *headsJob) settle() {
	j.until(func(now string) bool {
		for _, p := range []string{"0.0", "0.1", "1.0", "1.1"} {
			at := regexp.MustCompile(regexp.QuoteMeta(p)+replacedBy+`([^ :\n]+)`).FindAllStringSubmatch(now, -1)
			if len(at) == 0 { // a process that has just joined has no state yet
				at = regexp.MustCompile(regexp.QuoteMeta(p)+` has joined: process \d+ on ([^ :\n]+)`).FindAllStringSubmatch(now, 1)
			}
			if len(at) == 0 || j.gone[at[len(at)-1][1]] || strings.LastIndex(now, p+" is dead ") > strings.LastIndex(now, p+replacedBy) {
				return false
			}
		}
		return strings.LastIndex(now, "the decisions of the head are kept on ") > strings.LastIndex(now, " is the new head")
	})
}

// said returns the messages of all heads so far.
func (j *headsJob) said() string { return j.Stderr() + j.errs() }

// until waits until the condition is true. It also returns if the job has ended, which is
// too early.
func (j *headsJob) until(so func(said string) bool) {
	end := time.Now().Add(patience)
	for !so(j.said()) {
		if j.done() || len(j.Processes()) == 0 {
			j.early = true
			return
		}
		if time.Now().After(end) {
			return // the deadline of the job reports which processes wait for which
		}
		time.Sleep(time.Millisecond)
	}
}

// done reports whether a head has seen the end of the job.
func (j *headsJob) done() bool {
	return strings.Contains(j.said(), finished) || strings.Contains(j.errs(), "intrarun: exit code")
}

// loseHead loses the present head, and waits for the next one.
func (j *headsJob) loseHead(how string) {
	if j.done() {
		j.early = true
		return
	}
	heads := headNow.FindAllStringSubmatch(j.errs(), -1)
	host := j.net.Hosts[0]
	for _, m := range heads {
		for _, h := range j.net.Hosts {
			if h.Name == m[1] {
				host = h
			}
		}
	}
	j.gone[host.Name] = how != "intrarun" || len(heads) > 0
	switch {
	case how == "down":
		require.NoError(j.t, host.Down())
	case how == "intrarun" && len(heads) == 0:
		require.NoError(j.t, ignoreGone(syscall.Kill(j.PID(), syscall.SIGKILL)))
	default:
		require.NoError(j.t, host.Kill())
	}
	j.until(func(string) bool { return len(headNow.FindAllString(j.errs(), -1)) > len(heads) })
	if !j.early {
		j.lost++
	}
}

// over waits until no process of the job is left, and returns the output of its last head.
func (j *headsJob) over() jobRun {
	t := j.t
	r := newJobRun(t, j.Wait(t))
	for _, h := range j.net.Hosts {
		require.NoError(t, h.Up())
	}
	r.stderr += j.errs()
	if j.errs() != "" {
		r.code = r.report.ExitCode
		if out := successor(j.spec.Dir, j.PID(), ".out"); out != "" { // a successor may have taken over before the loss
			r.stdout = merged(t, "", out, len(j.plan.how))
		}
	}
	return r
}
