package jobtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Deadline is the time limit of a job unless its test sets another one. Most jobs take a
// second. On a slow host that runs a dozen other jobs they may take a hundred times as
// long.
const Deadline = 2 * time.Minute

// goneTime bounds how long processes that a job has started may outlive intrarun.
const goneTime = 10 * time.Second

// Spec describes a job.
type Spec struct {
	Intrarun string   // path of the intrarun command
	Flags    []string // flags of intrarun
	Program  []string // the program and its arguments

	Deadline time.Duration // 0: Deadline
	Env      []string      // environment in addition to that of the test
	Stdin    io.Reader
	Prefix   []string // a command that starts intrarun, such as taskset
	Dir      string   // working directory of intrarun; empty: that of the test

	// Outlived means that the job may outlive intrarun, because another head takes over or a
	// disconnected host continues for a while. The job is over when no process is left.
	Outlived bool
}

// String returns the command line in the form in which a user can type it.
func (s Spec) String() string {
	all := append(append(append([]string{}, s.Prefix...), s.Intrarun), s.Flags...)
	return strings.Join(append(all, s.Program...), " ")
}

// Job is a running job.
type Job struct {
	spec    Spec
	cmd     *exec.Cmd
	mark    string
	dir     string // folder of the report and of temporary files
	stdout  bytes.Buffer
	stderr  lockedBuffer
	began   time.Time
	ended   chan struct{} // closed when intrarun has ended
	settled chan struct{} // closed after ended, or once the deadline has passed and the processes were killed
	dump    string        // not empty if the deadline has passed
}

// Result is the outcome of a job.
type Result struct {
	Spec           Spec
	Code           int // exit code of intrarun, -1 if a signal ended it
	Stdout, Stderr string
	Report         []byte // empty if there is none
	Took           time.Duration
}

var jobs atomic.Int64

// Start starts a job. The job is ended at the end of the test at the latest.
func Start(t testing.TB, s Spec) *Job {
	t.Helper()
	dir, err := os.MkdirTemp("", "job-") // a short path, because sockets may be in it
	require.NoError(t, err)
	tmp := filepath.Join(dir, "tmp")
	require.NoError(t, os.Mkdir(tmp, 0o700))
	j := &Job{spec: s, dir: dir, mark: fmt.Sprintf("%d-%d", os.Getpid(), jobs.Add(1)),
		ended: make(chan struct{}), settled: make(chan struct{})}
	args := append(append([]string{}, s.Prefix...), s.Intrarun, "-report", j.report())
	args = append(append(args, s.Flags...), s.Program...)
	j.cmd = exec.Command(args[0], args[1:]...)
	j.cmd.Env = append(append(os.Environ(), "TMPDIR="+tmp, mark+"="+j.mark), s.Env...)
	j.cmd.Stdin, j.cmd.Stdout, j.cmd.Stderr = s.Stdin, &j.stdout, &j.stderr
	j.cmd.Dir = s.Dir
	j.cmd.WaitDelay = goneTime // end the wait even if another process holds the pipes open
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, j.cmd.Start(), s)
	j.began = time.Now()
	go func() {
		_ = j.cmd.Wait() // the exit code contains the error
		close(j.ended)
	}()
	over := j.ended
	if s.Outlived {
		over = make(chan struct{})
		go func() {
			defer close(over)
			for <-j.ended; len(j.Processes()) > 0; time.Sleep(20 * time.Millisecond) {
			}
		}()
	}
	limit := s.Deadline
	if limit == 0 {
		limit = Deadline
	}
	go func() {
		defer close(j.settled)
		select {
		case <-over:
		case <-time.After(limit):
			j.dump = dump(j.Processes(), j.PID())
			j.kill()
		}
	}()
	t.Cleanup(func() { // run before the folder is removed
		j.kill()
		<-j.ended
		<-j.settled
	})
	return j
}

// Run runs a job to its end.
func Run(t testing.TB, s Spec) Result {
	t.Helper()
	return Start(t, s).Wait(t)
}

func (j *Job) report() string { return filepath.Join(j.dir, "report.json") }

// PID returns the process ID of intrarun. With a Prefix it returns that of the prefix
// command.
func (j *Job) PID() int { return j.cmd.Process.Pid }

// Ended is closed when intrarun has ended.
func (j *Job) Ended() <-chan struct{} { return j.ended }

// Processes returns the processes of the job that have not ended, including intrarun.
func (j *Job) Processes() []Process { return marked(j.mark) }

// Stderr returns the standard error of intrarun so far.
func (j *Job) Stderr() string { return j.stderr.String() }

// Wait waits for the end of the job. It fails the test if the job is not over at
// its deadline, or leaves anything behind.
func (j *Job) Wait(t testing.TB) Result {
	t.Helper()
	r, err := j.End()
	if err != nil {
		require.FailNow(t, err.Error())
	}
	return r
}

// These are the errors of a job.
var (
	ErrHangs = errors.New("the job is not over at its deadline")
	ErrLeft  = errors.New("the job is over and has left something behind")
)

// End waits for the end of the job. It returns an error if the job was not over at its
// deadline, with the reports of its processes, or if it has left something behind.
func (j *Job) End() (Result, error) {
	<-j.ended
	<-j.settled
	r := Result{Spec: j.spec, Code: j.cmd.ProcessState.ExitCode(), Stdout: j.stdout.String(), Stderr: j.stderr.String(), Took: time.Since(j.began)}
	r.Report, _ = os.ReadFile(j.report()) // there is no report if the job never began
	if j.dump != "" {
		return r, fmt.Errorf("%w: %v\n%s\n--- intrarun said:\n%s", ErrHangs, j.spec, j.dump, r.Stderr)
	}
	if left := j.left(); len(left) > 0 {
		return r, fmt.Errorf("%w: %v\n%s\n--- intrarun said:\n%s", ErrLeft, j.spec, strings.Join(left, "\n"), r.Stderr)
	}
	return r, nil
}

// Decode reads the report into v.
func (r Result) Decode(t testing.TB, v any) {
	t.Helper()
	require.NotEmpty(t, r.Report, "%v\nhas written no report\n%s", r.Spec, r.Stderr)
	require.NoError(t, json.Unmarshal(r.Report, v), "%v\nreport: %s", r.Spec, r.Report)
}

// left lists the processes and temporary files that the job has left behind. Its shared
// memory and its sockets have no names, and vanish with the processes.
func (j *Job) left() (all []string) {
	for end := time.Now().Add(goneTime); ; time.Sleep(5 * time.Millisecond) {
		all = nil
		for _, p := range marked(j.mark) {
			all = append(all, "process "+p.String())
		}
		files, _ := filepath.Glob(filepath.Join(j.dir, "tmp", "*"))
		if all = append(all, files...); len(all) == 0 || time.Now().After(end) {
			return all
		}
	}
}

// kill ends all processes of the job.
func (j *Job) kill() {
	for end := time.Now().Add(goneTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
		all := marked(j.mark)
		if len(all) == 0 {
			break
		}
		for _, p := range all {
			p.signal(syscall.SIGKILL)
		}
	}
}

// lockedBuffer is a buffer that can be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
