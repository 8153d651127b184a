package launch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/internal/job"
)

// agent starts, watches and ends processes of one host on behalf of the head.
// Its methods do not block for long; what it sees it tells through observer.
type agent interface {
	// start starts a process. The files stay the caller's.
	start(p job.Process, c command) (pid int, err error)
	// joined says that the program of p runs as process pid, which differs
	// from the one started under a wrapper.
	joined(p job.Process, pid int)
	// signal sends a signal to the process and all that it has started.
	signal(p job.Process, s syscall.Signal)
	// close gives back what the agent holds, once all processes are gone.
	close()
}

// command is what an agent starts.
type command struct {
	path    string
	args    []string // with the name in front
	environ []string
	stdin   *os.File // nil: nothing to read
	stdout  *os.File
	stderr  *os.File
	extra   []*os.File // from descriptor 3
}

// observer is told what the agent sees, from goroutines of the agent.
type observer interface {
	// exited: the process started for p is gone, and its group with it.
	exited(p job.Process, state *os.ProcessState)
	// programGone: the program under the wrapper is gone.
	programGone(p job.Process)
	// stopped: the process has been stopped for d now.
	stopped(p job.Process, d time.Duration)
}

// local is the agent of intrarun's own host.
type local struct {
	observer observer
	guard    *guard      // nil if there is none
	starts   chan func() // run by the thread that is the processes' parent
	quit     chan struct{}

	mu       sync.Mutex
	children map[job.Process]*child
}

type child struct {
	cmd     *exec.Cmd
	program int // pid of the program under a wrapper, 0 if there is none
	since   time.Time
}

func newLocal(o observer, g *guard) *local {
	a := &local{
		observer: o,
		guard:    g,
		starts:   make(chan func()),
		quit:     make(chan struct{}),
		children: make(map[job.Process]*child),
	}
	go a.parent()
	go a.watchStops()
	return a
}

// parent starts all processes from one thread, since the kernel sends their
// parent-death signal when that thread ends. It lives as long as the agent.
func (a *local) parent() {
	runtime.LockOSThread()
	for {
		select {
		case f := <-a.starts:
			f()
		case <-a.quit:
			return
		}
	}
}

func (a *local) start(p job.Process, c command) (int, error) {
	cmd := &exec.Cmd{
		Path: c.path, Args: c.args, Env: c.environ,
		Stdout: c.stdout, Stderr: c.stderr, ExtraFiles: c.extra,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	if c.stdin != nil {
		cmd.Stdin = c.stdin
	}
	result := make(chan error)
	a.starts <- func() { result <- cmd.Start() }
	if err := <-result; err != nil {
		return 0, fmt.Errorf("start %v: %w", p, err)
	}
	a.guard.watch(cmd.Process.Pid)
	a.mu.Lock()
	a.children[p] = &child{cmd: cmd}
	a.mu.Unlock()
	go a.reap(p, cmd)
	return cmd.Process.Pid, nil
}

// reap waits for the end of a process. Its group is killed before its number
// is free again.
func (a *local) reap(p job.Process, cmd *exec.Cmd) {
	pid := cmd.Process.Pid
	if err := awaitExit(pid); err != nil { // a kernel without pidfds
		_ = cmd.Wait()
	}
	killGroup(pid, syscall.SIGKILL)
	a.guard.forget(pid)
	a.mu.Lock()
	c := a.children[p]
	delete(a.children, p)
	if c.program != 0 {
		signalPID(c.program, syscall.SIGKILL)
	}
	a.mu.Unlock()
	_ = cmd.Wait() // the state says it all
	a.observer.exited(p, cmd.ProcessState)
}

func (a *local) joined(p job.Process, pid int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.children[p]
	if c == nil || pid == 0 || pid == c.cmd.Process.Pid {
		return
	}
	c.program = pid
	go func() {
		if err := awaitExit(pid); err != nil && !errors.Is(err, unix.ESRCH) {
			return // a kernel without pidfds: the wrapper's end has to do
		}
		a.mu.Lock()
		c.program = 0
		a.mu.Unlock()
		a.observer.programGone(p)
	}()
}

func (a *local) signal(p job.Process, s syscall.Signal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.children[p]
	if c == nil {
		return
	}
	killGroup(c.cmd.Process.Pid, s)
	if c.program != 0 {
		signalPID(c.program, s)
	}
}

func (a *local) close() { close(a.quit) }

// stopPoll is how often the agent looks for stopped processes.
const stopPoll = 100 * time.Millisecond

// watchStops tells of processes that are stopped, by a signal and not by a
// debugger. A process that is merely slow is none of its business.
func (a *local) watchStops() {
	tick := time.NewTicker(stopPoll)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-a.quit:
			return
		case <-tick.C:
		}
		now := time.Now()
		pause := now.Sub(last) > 5*stopPoll // we were stopped ourselves
		last = now
		for p, d := range a.findStopped(now, pause) {
			a.observer.stopped(p, d)
		}
	}
}

func (a *local) findStopped(now time.Time, pause bool) map[job.Process]time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	var found map[job.Process]time.Duration
	for p, c := range a.children {
		if !isStopped(c.cmd.Process.Pid) && (c.program == 0 || !isStopped(c.program)) {
			c.since = time.Time{}
			continue
		}
		if c.since.IsZero() || pause {
			c.since = now
		}
		if found == nil {
			found = make(map[job.Process]time.Duration)
		}
		found[p] = now.Sub(c.since)
	}
	return found
}

// awaitExit waits until the process has ended, without reaping it.
func awaitExit(pid int) error {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("watch process %d: %w", pid, err)
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	rc, err := f.SyscallConn()
	if err != nil {
		return fmt.Errorf("watch process %d: %w", pid, err)
	}
	return rc.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
}

// killGroup signals a process group; that it is empty by now is no error.
func killGroup(pid int, s syscall.Signal) { _ = syscall.Kill(-pid, s) }

// signalPID signals a process that may be gone by now.
func signalPID(pid int, s syscall.Signal) { _ = syscall.Kill(pid, s) }
