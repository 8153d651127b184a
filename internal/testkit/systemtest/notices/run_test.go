//go:build system

package notices

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// patience bounds a job that normally takes seconds, on a machine with much other work.
const patience = 2 * time.Minute

// run is one job under way, to which the acts of a schedule happen.
type run struct {
	t        *testing.T
	schedule schedule
	net      *netns.Net
	job      *jobtest.Job
	dir      string // working directory of intrarun
	files    string // folder of the sets of files
	intrarun string
	began    time.Time // when all had joined

	mu     sync.Mutex
	facts  facts
	guests map[int]*guest
	later  sync.WaitGroup
	ended  chan struct{}
}

// guest is a host that joins, or tries to.
type guest struct {
	*exec.Cmd
	out  string // file of its output
	done chan struct{}
}

// start starts the job and waits until all have joined.
func start(t *testing.T, s schedule) *run {
	t.Helper()
	r := &run{t: t, schedule: s, net: netns.Test(t, s.hosts+guests), dir: t.TempDir(), intrarun: binaries.Intrarun(t),
		guests: make(map[int]*guest), ended: make(chan struct{})}
	var hosts []string
	for i := range s.hosts {
		hosts = append(hosts, fmt.Sprintf("%s:%d", r.net.Hosts[i].Name, s.slots))
	}
	flags := append([]string{"-v", "-rsh", "ip netns exec {host}", "-hosts", strings.Join(hosts, ",")}, strings.Fields(s.flags())...)
	if s.files {
		r.files = filepath.Join(r.dir, "sets")
		flags = append(flags, "-checkpoint", r.files, "-checkpoint-every", "40")
	}
	r.job = jobtest.Start(t, jobtest.Spec{
		Intrarun: r.intrarun, Flags: flags, Program: program(t, s),
		Prefix: []string{"ip", "netns", "exec", r.net.Hosts[0].Name},
		Dir:    r.dir, Outlived: true, Deadline: patience,
	})
	go func() {
		<-r.job.Ended()
		for len(r.job.Processes()) > 0 { // another head may continue the job
			time.Sleep(20 * time.Millisecond)
		}
		close(r.ended)
	}()
	for !strings.Contains(r.job.Stderr(), "all have joined") && r.sleep(time.Millisecond) {
	}
	r.began = time.Now()
	for _, h := range r.net.Hosts {
		r.facts.names = append(r.facts.names, h.Name)
	}
	r.facts.schedule, r.facts.places = s, r.observe().places
	return r
}

// program returns the program of a schedule and its arguments.
func program(t *testing.T, s schedule) []string {
	return append([]string{binaries.Program(t, s.program[0])}, s.program[1:]...)
}

// sleep waits, and reports whether the job still runs.
func (r *run) sleep(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-r.ended:
		return false
	}
}

// follow makes all acts happen and waits until no process of the job is left. quiet is the
// time of a run without failures.
func (r *run) follow(quiet time.Duration) {
	r.facts.quiet = quiet
	pauses := r.watchPauses()
	for _, a := range r.schedule.acts {
		if !r.sleep(time.Duration(a.wait * float64(quiet))) {
			break
		}
		r.act(a)
	}
	<-r.ended
	r.facts.pauses = <-pauses
	r.later.Wait()
	r.facts.took = time.Since(r.began)
}

// watchPauses measures how late this process, which contains the network, gets a core while
// the job runs.
func (r *run) watchPauses() chan time.Duration {
	result := make(chan time.Duration, 1)
	go func() {
		const step = 5 * time.Millisecond
		var worst time.Duration
		for {
			before := time.Now()
			more := r.sleep(step)
			worst = max(worst, time.Since(before)-step)
			if !more {
				result <- worst
				return
			}
		}
	}()
	return result
}

// act makes an act happen. It records the act before it can have an effect.
func (r *run) act(a act) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch a.what {
	case notice, twice:
		r.notify(a)
		if a.hold > 0 {
			r.after(a.hold, func() {
				if a.what == twice {
					r.again(a.host)
				} else {
					r.take(a.host)
				}
			})
		}
	case ask:
		r.drain(a, r.net.Hosts[a.host].Name)
		r.after(a.hold, func() { r.take(a.host) })
	case move:
		r.drain(a, a.on.String())
	case kill:
		r.kill(a.on.String())
	case take:
		r.take(a.host)
	case behead:
		r.behead()
	case arrival:
		r.join(a)
	}
}

// after runs f later, unless the job has ended by then.
func (r *run) after(d time.Duration, f func()) {
	r.later.Go(func() {
		if r.sleep(d) {
			r.mu.Lock()
			defer r.mu.Unlock()
			f()
		}
	})
}

// at returns the time since the start of the job.
func (r *run) at() time.Duration { return time.Since(r.began) }

// notify sends SIGTERM to the agent of a host, or, with -drain, to intrarun on its own host. It is
// a second signal if an earlier act was a notice to that host.
func (r *run) notify(a act) {
	if slices.ContainsFunc(r.facts.notices, func(n noticed) bool { return n.host == a.host && n.how != byCommand }) {
		r.again(a.host)
		return
	}
	if a.host == 0 && r.schedule.drain {
		if r.alive(r.job.PID()) {
			r.facts.notice(r.observe(), a.host, toHead, r.at())
			_ = syscall.Kill(r.job.PID(), syscall.SIGTERM) // an error means that it has ended
		}
		return
	}
	if pid := r.agent(a.host); pid != 0 {
		r.facts.notice(r.observe(), a.host, toAgent, r.at())
		_ = syscall.Kill(pid, syscall.SIGTERM)
	}
}

// again sends another SIGTERM to the process that has received the first one.
func (r *run) again(host int) {
	pid := r.agent(host)
	if host == 0 && r.schedule.drain {
		pid = r.job.PID()
	}
	if pid == 0 || !r.alive(pid) {
		return
	}
	r.facts.again(r.observe(), host)
	_ = syscall.Kill(pid, syscall.SIGTERM)
}

// drain runs intrarun drain on the host of the head.
func (r *run) drain(a act, what string) {
	if !r.alive(r.job.PID()) {
		return
	}
	if a.what == ask {
		r.facts.notice(r.observe(), a.host, byCommand, r.at())
	} else {
		r.facts.moves++
	}
	cmd := r.net.Hosts[0].Command(r.intrarun, "drain", strconv.Itoa(r.job.PID()), what)
	out, err := cmd.CombinedOutput()
	if err != nil && a.what == ask {
		r.facts.denied(string(out))
	}
}

// kill kills the newest process of a slot.
func (r *run) kill(process string) {
	pid := 0
	for _, m := range joinedAs.FindAllStringSubmatch(r.said(), -1) {
		if m[1] == process {
			pid, _ = strconv.Atoi(m[2]) // cannot fail: the pattern has digits
		}
	}
	if pid == 0 || !r.alive(pid) {
		return
	}
	r.facts.kill(r.observe(), process)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

var joinedAs = regexp.MustCompile(`(\d+\.\d+) has joined: process (\d+) on (\S+)`)

// take takes a host away: its link is down, and all its processes are killed. That is damage
// unless the host has left before.
func (r *run) take(host int) {
	h := r.net.Hosts[host]
	if all, err := h.Processes(); err != nil || len(all) > 0 {
		r.facts.take(r.observe(), host)
	}
	require.NoError(r.t, h.Kill())
}

// behead kills the intrarun that the user started.
func (r *run) behead() {
	if r.alive(r.job.PID()) {
		r.facts.behead(r.observe())
		_ = syscall.Kill(r.job.PID(), syscall.SIGKILL)
	}
}

// alive reports whether a process still runs intrarun or the program.
func (r *run) alive(pid int) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil && (exe == r.intrarun || strings.Contains(exe, "/bin/tests/"))
}

// agent finds the agent of a host, 0 if it has ended.
func (r *run) agent(host int) int {
	if g := r.guests[host]; g != nil {
		select {
		case <-g.done:
			return 0
		default:
			return g.Process.Pid
		}
	}
	all, _ := r.net.Hosts[host].Processes() // none on an error
	for _, pid := range all {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // an error means that the process has ended
		if bytes.HasSuffix(line, []byte("\x00-agent\x00")) {
			return pid
		}
	}
	return 0
}

var joinBy = regexp.MustCompile(`another host joins by: (INTRA_SECRET_FILE=\S+) intrarun (join .*)\n`)

// join makes a host join the job by the command that the job has printed.
func (r *run) join(a act) {
	words := joinBy.FindStringSubmatch(r.job.Stderr())
	if words == nil { // the job replaces no process
		return
	}
	h := r.net.Hosts[a.host]
	out, err := os.Create(filepath.Join(r.t.TempDir(), "guest"))
	require.NoError(r.t, err)
	defer out.Close()
	g := &guest{out: out.Name(), done: make(chan struct{})}
	args := append([]string{words[1], r.intrarun, "join", "-name", h.Name, "-slots", strconv.Itoa(a.slots)}, strings.Fields(strings.TrimPrefix(words[2], "join "))...)
	g.Cmd = h.Command("env", args...)
	g.Stdout, g.Stderr = out, out
	require.NoError(r.t, g.Start())
	r.facts.arrives = append(r.facts.arrives, a)
	go func() {
		_ = g.Wait() // its exit code is judged
		close(g.done)
	}()
	r.t.Cleanup(func() {
		_ = g.Process.Kill() // it has ended if all is well
		<-g.done
	})
	r.guests[a.host] = g
}

// said returns what all heads have printed so far.
func (r *run) said() string { return r.job.Stderr() + r.left(".err") }

// left returns what the head's successors have printed so far.
func (r *run) left(suffix string) string {
	b, _ := os.ReadFile(filepath.Join(r.dir, fmt.Sprintf("intrarun-%d%s", r.job.PID(), suffix))) // an error means that there is no successor
	return string(b)
}

// observe returns what the job has printed so far about its hosts.
func (r *run) observe() observed { return observe(r.said(), r.facts.names) }

// end returns the end of the job for the judge.
func (r *run) end() (e end, err error) {
	result, err := r.job.End()
	e = end{code: result.Code, first: result.Stderr, next: r.left(".err"), stdout: result.Stdout + r.left(".out"), guests: make(map[int]ending)}
	if errors.Is(err, jobtest.ErrHangs) || errors.Is(err, jobtest.ErrLeft) {
		return e, err
	}
	if len(result.Report) > 0 {
		e.report = new(report)
		if err := json.Unmarshal(result.Report, e.report); err != nil {
			return e, err
		}
	}
	for host, g := range r.guests {
		<-g.done
		text, err := os.ReadFile(g.out)
		if err != nil {
			return e, err
		}
		e.guests[host] = ending{g.ProcessState.ExitCode(), string(text)}
	}
	return e, r.leftOver()
}

// leftOver returns an error if processes are left on a host some time after the job. The
// watchdog of an agent outlives it for a moment.
func (r *run) leftOver() error {
	const goneTime = 10 * time.Second
	for end := time.Now().Add(goneTime); ; time.Sleep(5 * time.Millisecond) {
		left := 0
		for _, h := range r.net.Hosts {
			all, err := h.Processes()
			if err != nil {
				return err
			}
			left += len(all)
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d processes are left on the hosts", left)
		}
	}
}
