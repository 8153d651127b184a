//go:build system

package systemtest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// chaosProblem runs for some seconds on these hosts, so that failures occur while it runs.
var chaosProblem = strings.Fields("-nx 20 -ny 20 -nz 20 -iters 150 -json")

// TestChaos runs HPCCG while its processes, hosts and network fail according to a seed.
// Every run ends with the bits of a run without failures, or reports which rank was lost.
// No process without a fault is declared dead, and no process or file is left behind.
// INTRA_CHAOS=N tries N seeds, INTRA_SEED=S only S.
func TestChaos(t *testing.T) { testChaos(t, jobtest.Count(1, 3), newSchedule) }

// TestChaosOfTheHead is TestChaos with losses of the head, and with checkpoint files, from which
// another run continues.
func TestChaosOfTheHead(t *testing.T) { testChaos(t, jobtest.Count(1, 2), newHeadSchedule) }

func testChaos(t *testing.T, n int, newSchedule func(seed uint64) schedule) {
	first := 1
	if s := os.Getenv("INTRA_SEED"); s != "" {
		var err error
		first, err = strconv.Atoi(s)
		require.NoError(t, err, "INTRA_SEED")
		n = 1
	} else if s := os.Getenv("INTRA_CHAOS"); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		require.NoError(t, err, "INTRA_CHAOS")
	}
	net := netns.Test(t, chaosHosts)
	want := make(map[int]string)
	quiet := make(map[int]time.Duration)
	// undisturbed runs the problem without faults, once for each number of ranks.
	undisturbed := func(ranks int) {
		if want[ranks] != "" {
			return
		}
		c := &chaos{t: t, net: net, schedule: schedule{ranks: ranks}}
		began := time.Now()
		r, hash := c.run()
		require.Zero(t, r.code, r.stderr)
		require.Empty(t, r.report.Failures, r.stderr)
		want[ranks], quiet[ranks] = hash, time.Since(began)
	}
	ends := make(map[string]int)
	var worst time.Duration
	name := t.Name()
	for seed := first; seed < first+n; seed++ {
		s := newSchedule(uint64(seed))
		undisturbed(s.ranks)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := &chaos{t: t, net: net, schedule: s, quiet: quiet[s.ranks]}
			r, hash := c.run()
			for _, f := range r.report.Failures {
				ends[string(f.Cause)]++
			}
			ends[fmt.Sprintf("exit %d", r.code)]++
			if c.done.succeeded {
				ends["another head"]++
			}
			worst = max(worst, c.done.pauses)
			c.goOn(want[s.ranks], ends)
			if wrong := c.done.judge(s.ranks, r, hash, want[s.ranks]); wrong != "" {
				t.Errorf("%s\n%v\nthe machine paused for up to %v\nreplay with INTRA_SEED=%d go test -run '%[5]s$/%[4]d' ./internal/testkit/systemtest\n%[6]s",
					wrong, s, c.done.pauses, seed, name, r.stderr)
			}
		})
	}
	t.Logf("%d schedules, with verdicts and ends: %v; the machine paused for up to %v", n, ends, worst)
}

// chaos is one run with the faults of a schedule.
type chaos struct {
	t        *testing.T
	net      *netns.Net
	schedule schedule
	quiet    time.Duration // time of a run without failures

	mu     sync.Mutex
	done   done
	pids   map[job.Process]int
	agents map[int]int // process IDs by host
	head   int         // process ID
	files  string      // folder of the checkpoint files
	undo   sync.WaitGroup
	ended  chan struct{}

	outages map[[2]int]*outage // by the lower and the higher host
}

func (c *chaos) run() (*jobRun, string) {
	t := c.t
	t.Helper()
	flags := fmt.Sprintf("-n %d -r %d %s", c.schedule.ranks, chaosReplicas, c.schedule.flags)
	if every := c.schedule.every; every > 0 {
		c.files = filepath.Join(t.TempDir(), "state")
		flags += fmt.Sprintf(" -checkpoint %s -checkpoint-every %d", c.files, every)
	}
	spec := hostedSpec(t, c.net, c.schedule.ranks*chaosReplicas/chaosHosts, flags, chaosProblem)
	j := jobtest.Start(t, spec)
	c.ended, c.head = make(chan struct{}), j.PID()
	go func() {
		<-j.Ended()
		for c.schedule.head && len(j.Processes()) > 0 { // another head may continue the job
			time.Sleep(20 * time.Millisecond)
		}
		close(c.ended)
	}()
	c.done = done{killed: make(map[job.Process]bool), stopped: make(map[job.Process]bool), hosts: make(map[int]bool), cuts: make(map[[2]int]time.Duration)}
	c.outages = make(map[[2]int]*outage)
	pauses := c.watchPauses()
	if await(t, j, joined); strings.Contains(j.Stderr(), joined) {
		c.meet(j.Stderr())
		for _, a := range c.schedule.acts {
			if !c.sleep(time.Duration(a.wait * float64(c.quiet))) {
				break
			}
			c.act(a)
		}
	}
	<-c.ended
	c.done.pauses = <-pauses
	c.undo.Wait()
	c.mend()
	end, err := j.End()
	require.NoError(t, err, "%v", c.schedule)

	r := &jobRun{code: end.Code, stdout: end.Stdout, stderr: end.Stderr}
	errs := successor(spec.Dir, j.PID(), ".err")
	if len(end.Report) == 0 && c.schedule.head && r.code < 0 { // the head was killed and had no successor, or the successor was killed and had none
		r.code, r.report.Error = 3, headless
		return r, ""
	}
	end.Decode(t, &r.report)
	if r.code < 0 && errs == "" && c.schedule.head { // the head was lost when only its exit was left to do
		r.code = r.report.ExitCode
	}
	if errs != "" {
		c.done.succeeded = true
		switch first := r.stderr; {
		case r.code == 0: // the head was stopped when no decision was left
			require.Contains(t, first, "all have finished", errs)
		case r.code > 0:
			require.Equal(t, 3, r.code, first)
			if !strings.Contains(first, "this head gives up") { // the head was stopped when the job had already ended
				require.Contains(t, first, r.report.Error, errs)
			}
		}
		r.stderr += errs
		r.stdout, r.code = merged(t, r.stdout, successor(spec.Dir, j.PID(), ".out"), 2+len(c.done.hosts)), r.report.ExitCode
	}
	require.Equal(t, r.code, r.report.ExitCode)
	if r.code != 0 {
		return r, ""
	}
	hash := r.sum(t)
	return r, hash
}

// merged returns the output of a job of several heads. Each head may print the line of
// results once, possibly as written by another replica, with other times.
func merged(t *testing.T, first, second string, heads int) string {
	t.Helper()
	lines := slices.Collect(strings.Lines(first + second))
	for _, line := range lines {
		if len(lines) > heads || bits(t, line) != bits(t, lines[0]) {
			return first + second
		}
	}
	return strings.Join(lines[:min(1, len(lines))], "")
}

// goOn runs another job that continues from the files of this one, if there are any.
func (c *chaos) goOn(want string, ends map[string]int) {
	if c.files == "" || newest(c.t, c.files) == "" {
		return
	}
	r := intrarun(c.t, fmt.Sprintf("-n %d -r 1 -restart %s", c.schedule.ranks, c.files), chaosProblem...)
	got := r.sum(c.t)
	require.Equal(c.t, want, got, "%v", c.schedule)
	for _, why := range r.report.Restart.Refused { // the job ended before the set was complete, or the set was abandoned
		require.Contains(c.t, why, "the set is incomplete", "%v", c.schedule)
	}
	ends["gone on"]++
}

// watchPauses measures how late this process, which contains the network, gets a core
// while the job runs.
func (c *chaos) watchPauses() chan time.Duration {
	result := make(chan time.Duration, 1)
	go func() {
		const step = 5 * time.Millisecond
		var worst time.Duration
		for {
			before := time.Now()
			time.Sleep(step)
			worst = max(worst, time.Since(before)-step)
			select {
			case <-c.ended:
				result <- worst
				return
			default:
			}
		}
	}()
	return result
}

// meet reads the host of each process.
func (c *chaos) meet(text string) {
	c.pids, c.agents = make(map[job.Process]int), make(map[int]int)
	c.done.hostOf = make(map[job.Process]int)
	for _, m := range joinedAs.FindAllStringSubmatch(text, -1) {
		var p job.Process
		require.NoError(c.t, p.UnmarshalText([]byte(m[1])))
		pid, err := strconv.Atoi(m[2])
		require.NoError(c.t, err)
		c.pids[p] = pid
		for i, h := range c.net.Hosts {
			if h.Name == m[3] {
				c.done.hostOf[p] = i
			}
		}
	}
	require.Len(c.t, c.done.hostOf, c.schedule.ranks*chaosReplicas, text)
	for i, h := range c.net.Hosts {
		all, err := h.Processes()
		require.NoError(c.t, err)
		for _, pid := range all {
			if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); bytes.HasSuffix(line, []byte("\x00-agent\x00")) {
				c.agents[i] = pid
			}
		}
	}
}

// sleep waits, and reports whether the job still runs.
func (c *chaos) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-c.ended:
		return false
	}
}

// act performs the fault a. It records the fault before the fault can have an effect.
func (c *chaos) act(a act) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	var undo func() error
	host := c.net.Hosts[a.a]
	switch a.what {
	case killProcess:
		if err = c.signal(c.pids[a.on], hpccg(c.t), syscall.SIGKILL); err == nil {
			c.done.killed[a.on] = true
		}
	case stopProcess:
		c.done.stopped[a.on] = true
		err = c.signal(c.pids[a.on], hpccg(c.t), syscall.SIGSTOP)
		undo = func() error { return c.signal(c.pids[a.on], hpccg(c.t), syscall.SIGCONT) }
	case killHost:
		c.done.hosts[a.a] = true
		err = host.Kill()
	case killHead:
		c.done.headless = true
		err = c.signal(c.head, binaries.Intrarun(c.t), syscall.SIGKILL)
	case stopHead:
		c.done.headless = true
		err = c.signal(c.head, binaries.Intrarun(c.t), syscall.SIGSTOP)
		undo = func() error { return c.signal(c.head, binaries.Intrarun(c.t), syscall.SIGCONT) }
	case killAgent:
		c.done.hosts[a.a] = true
		err = c.signal(c.agents[a.a], binaries.Intrarun(c.t), syscall.SIGKILL)
	case stopAgent:
		c.done.hosts[a.a] = true
		err = c.signal(c.agents[a.a], binaries.Intrarun(c.t), syscall.SIGSTOP)
		undo = func() error { return c.signal(c.agents[a.a], binaries.Intrarun(c.t), syscall.SIGCONT) }
	case linkDown:
		c.cut(a, true)
		err = host.Down()
		undo = func() error {
			c.cut(a, false)
			return host.Up()
		}
	default:
		if a.how.Cut {
			c.cut(a, true)
		}
		c.set(a, a.how)
		undo = func() error {
			c.set(a, netns.Conditions{})
			if a.how.Cut {
				c.cut(a, false)
			}
			return nil
		}
	}
	require.NoError(c.t, ignoreGone(err), "%v", a)
	if undo == nil || a.hold == 0 {
		return
	}
	c.undo.Go(func() {
		c.sleep(a.hold)
		c.mu.Lock()
		defer c.mu.Unlock()
		if err := ignoreGone(undo()); err != nil {
			c.t.Errorf("end of %v: %v", a, err)
		}
	})
}

// signal signals a process if it still runs that program.
func (c *chaos) signal(pid int, program string, s syscall.Signal) error {
	if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err != nil || exe != program {
		return syscall.ESRCH
	}
	return syscall.Kill(pid, s)
}

func ignoreGone(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// wires returns the directions between hosts that a fault affects.
func (a act) wires() (all [][2]int) {
	switch a.what {
	case oneWay:
		return [][2]int{{a.a, a.b}}
	case bothWays:
		return [][2]int{{a.a, a.b}, {a.b, a.a}}
	}
	for i := range chaosHosts {
		if i != a.a {
			all = append(all, [2]int{a.a, i}, [2]int{i, a.a})
		}
	}
	return all
}

func (c *chaos) set(a act, how netns.Conditions) {
	for _, w := range a.wires() {
		c.net.Set(w[0], w[1], how)
	}
}

// outage is a time in which two hosts did not always reach each other.
type outage struct {
	open         int // number of present cuts, in either direction
	began, ended time.Time
}

// recovery bounds the time after a cut until a connection works again. A connection
// retries less and less often. A cut within that time prolongs the outage.
const recovery = time.Second

// cut records the beginning or the end of a cut. A cut that is present when the job ends
// counts as endless.
func (c *chaos) cut(a act, begins bool) {
	now := time.Now()
	for _, w := range a.wires() {
		pair := [2]int{min(w[0], w[1]), max(w[0], w[1])}
		o := c.outages[pair]
		if o == nil {
			o = new(outage)
			c.outages[pair] = o
		}
		if begins {
			if o.open == 0 && now.Sub(o.ended) > recovery {
				o.began = now
			}
			o.open++
			if a.hold == 0 {
				c.done.cuts[pair] = patience
			}
			continue
		}
		o.open, o.ended = o.open-1, now
		c.done.cuts[pair] = max(c.done.cuts[pair], now.Sub(o.began))
	}
}

// mend repairs all hosts and their network.
func (c *chaos) mend() {
	c.net.All(netns.Conditions{})
	for _, h := range c.net.Hosts {
		require.NoError(c.t, h.Up())
	}
}
