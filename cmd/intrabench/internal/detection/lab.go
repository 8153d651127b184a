package detection

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// Lab runs real jobs, on hosts made of network namespaces.
type Lab struct {
	Program []string // the command that understands HeadCommand, AgentCommand and ProgramCommand
	net     *netns.Net
	dir     string
	jobs    int
}

// NewLab makes the hosts. If that is not allowed, the error wraps netns.ErrUnsupported.
func NewLab(program ...string) (*Lab, error) {
	n, err := netns.New(hosts, 1)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "intrabench-")
	if err != nil {
		n.Close()
		return nil, fmt.Errorf("make room for reports: %w", err)
	}
	return &Lab{Program: program, net: n, dir: dir}, nil
}

// Close removes the hosts and all processes on them.
func (l *Lab) Close() {
	l.net.Close()
	os.RemoveAll(l.dir)
}

// run is a job that has been started.
type run struct {
	cmd    *exec.Cmd
	stdout bytes.Buffer
	said   *trial.Said // standard error
	report string
	ended  chan struct{}
}

// start starts the program on the hosts, or, without far, on this machine.
func (l *Lab) start(ctx context.Context, far bool, rarer, passes int) (*run, error) {
	l.jobs++
	r := &run{said: trial.NewSaid(), ended: make(chan struct{}), report: filepath.Join(l.dir, strconv.Itoa(l.jobs)+".json")}
	args := append(l.Program[1:len(l.Program):len(l.Program)], HeadCommand, "-report", r.report, "-rarer", strconv.Itoa(rarer))
	if far {
		var names []string
		for _, h := range l.net.Hosts {
			names = append(names, h.Name)
		}
		args = append(args, "-hosts", strings.Join(names, ","))
	}
	args = append(append(args, "--"), append(l.Program, ProgramCommand, "-passes", strconv.Itoa(passes))...)
	r.cmd = exec.Command(l.Program[0], args...)
	if far {
		r.cmd = l.net.Hosts[0].Command(l.Program[0], args...)
	}
	r.cmd.Stdout, r.cmd.Stderr, r.cmd.Dir, r.cmd.WaitDelay = &r.stdout, r.said, l.dir, time.Second
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a job: %w", err)
	}
	go func() {
		_ = r.cmd.Wait() // end checks the exit code
		close(r.ended)
	}()
	return r, r.await(ctx, "all have joined")
}

// runTime bounds the time of every step of a job.
const runTime = time.Minute

// await waits until the launcher has printed all parts.
func (r *run) await(ctx context.Context, parts ...string) error {
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	for _, part := range parts {
		if err := r.said.Await(ctx, part, 1, r.ended); err != nil {
			return fmt.Errorf("wait for %q: %w\n%s", part, err, r.said)
		}
	}
	return nil
}

// pid returns the process ID of a process of the job that has joined.
func (r *run) pid(process string) (int, error) {
	for line := range strings.Lines(r.said.String()) {
		var at float64
		var pid int
		if n, _ := fmt.Sscanf(line, "intrarun: %f "+process+" has joined: process %d on", &at, &pid); n == 2 {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("%w: no line names the process %s:\n%s", errRun, process, r.said)
}

// end waits for the end of the job, and reads its report.
func (r *run) end(ctx context.Context, want int) (*report, error) {
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	select {
	case <-r.ended:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the end of the job: %w\n%s", ctx.Err(), r.said)
	}
	if code := r.cmd.ProcessState.ExitCode(); code != want {
		return nil, fmt.Errorf("%w: the job ended with exit code %d instead of %d\n%s", errRun, code, want, r.said)
	}
	b, err := os.ReadFile(r.report)
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	rep := new(report)
	if err := json.Unmarshal(b, rep); err != nil {
		return nil, fmt.Errorf("%w: its report: %w", errRun, err)
	}
	return rep, nil
}

// stop ends a job in any state.
func (r *run) stop() {
	_ = r.cmd.Process.Signal(syscall.SIGTERM) // the job may have ended
	select {
	case <-r.ended:
	case <-time.After(runTime):
		_ = r.cmd.Process.Kill()
		<-r.ended
	}
}

// The process that is the victim of every loss, and its host.
const (
	victim     = "1.1"
	victimHost = hosts - 1
)

var survivors = []string{"0.0", "0.1", "1.0"}

// terminated is the exit code after SIGTERM.
const terminated = 128 + int(syscall.SIGTERM)

// Lose implements Runner.
func (l *Lab) Lose(ctx context.Context, k Kind) (float64, error) {
	r, err := l.start(ctx, k != ProcessHere, 1, 0)
	if r == nil {
		return 0, err
	}
	defer l.tidy()
	defer r.stop()
	if err != nil {
		return 0, err
	}
	pid, err := r.pid(victim)
	if err != nil {
		return 0, err
	}
	// A loss may happen at any time between two beats, so the time of the loss is random.
	time.Sleep(500*time.Millisecond + rand.N(100*time.Millisecond))
	began := time.Now()
	if err := l.lose(k, pid); err != nil {
		return 0, err
	}
	var all []string
	for _, s := range survivors {
		all = append(all, fmt.Sprintf("%s has handled the death of %s\n", s, victim))
	}
	if err := r.await(ctx, all...); err != nil {
		return 0, err
	}
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return 0, fmt.Errorf("end the job: %w", err)
	}
	rep, err := r.end(ctx, terminated)
	if err != nil {
		return 0, err
	}
	// The report has the time of day, and the clock may be set during the run.
	const most = time.Millisecond
	if now := time.Now(); (now.Round(0).Sub(began.Round(0)) - now.Sub(began)).Abs() > most {
		return 0, fmt.Errorf("%w: this machine's clock was set meanwhile", errRun)
	}
	return rep.handled(began)
}

// lose causes a loss. The caller counts the time from before the call.
func (l *Lab) lose(k Kind, pid int) error {
	switch k {
	case Host:
		return l.net.Hosts[victimHost].Kill()
	case Link:
		l.net.Around(victimHost, netns.Conditions{Cut: true})
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill a process: %w", err)
	}
	return nil
}

// tidy restores the hosts after a loss.
func (l *Lab) tidy() {
	for _, h := range l.net.Hosts {
		_ = h.Kill() // if Kill fails, the next job fails, too
		_ = h.Up()
	}
	l.net.All(netns.Conditions{})
}

// report holds those fields of intrarun's report that this package uses.
type report struct {
	Joined   time.Time `json:"joined"`
	Failures []struct {
		Process string             `json:"process"`
		Handled map[string]float64 `json:"handled_seconds"`
	} `json:"failures"`
}

// handled returns the seconds from the moment since until the last survivor has handled the
// death of the victim.
func (r *report) handled(since time.Time) (float64, error) {
	if len(r.Failures) != 1 || r.Failures[0].Process != victim {
		return 0, fmt.Errorf("%w: its failures are %v, not that of %s", errRun, r.Failures, victim)
	}
	last := 0.0
	for _, s := range survivors {
		at, ok := r.Failures[0].Handled[s]
		if !ok {
			return 0, fmt.Errorf("%w: %s has not handled the death of %s", errRun, s, victim)
		}
		last = max(last, at)
	}
	return r.Joined.Sub(since.Round(0)).Seconds() + last, nil
}

// Work implements Runner. It measures the resource use in the middle of the run, which takes
// approximately the time about. With about 0 it measures none.
func (l *Lab) Work(ctx context.Context, passes, rarer int, about time.Duration) (w Work, err error) {
	r, err := l.start(ctx, true, rarer, passes)
	if r == nil {
		return w, err
	}
	defer l.tidy()
	defer r.stop()
	if err != nil {
		return w, err
	}
	if about > 0 {
		if err := w.usage(l.net, about); err != nil {
			return w, errors.Join(errRun, err)
		}
	}
	rep, err := r.end(ctx, 0)
	if err != nil {
		return w, err
	}
	if len(rep.Failures) > 0 {
		return w, fmt.Errorf("%w: somebody died: %v", errRun, rep.Failures)
	}
	if err := json.Unmarshal(r.stdout.Bytes(), &w.Outcome); err != nil || w.Seconds <= 0 {
		return w, fmt.Errorf("%w: it printed %.200q", errors.Join(errRun, err), r.stdout.Bytes())
	}
	return w, nil
}
