package launch

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/internal/cores"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/lease"
	"github.com/intrahpc/intra/internal/output"
	"github.com/intrahpc/intra/internal/proc"
	"github.com/intrahpc/intra/internal/watchdog"
)

// local is the agent of the host that it runs on.
type local struct {
	observer observer
	secret   job.Secret
	plan     plan
	cpus     map[job.Process][]int // that a process is bound to; none: it is not
	guard    *watchdog.Watchdog    // nil if there is none
	word     *lease.Word           // until when the processes may act; nil if this host has no lease
	starts   chan func()           // run by the thread that is the processes' parent
	quit     chan struct{}

	mu       sync.Mutex
	children map[job.Process]*child // those that are not gone
	arenas   map[int]*os.File       // by rank
	sharing  map[job.Process]bool   // that have their arena
}

// child is one process and the agent's ends of what it has.
type child struct {
	process job.Process
	taking  [output.Crashes]sync.Mutex // held while bytes of a stream are taken out of its pipe
	cmd     *exec.Cmd
	conn    *job.Conn
	mail    *mailbox
	stdin   *os.File                 // nil if it has none
	pipes   [output.Streams]*os.File // read ends
	last    atomic.Bool              // it is gone: what is in the pipes is all
	silent  chan struct{}            // closed when its control connection is read to the end
	crashed chan struct{}            // closed when the pipe for crashes is
	program int                      // pid of the program under a wrapper, 0 if there is none
	since   time.Time                // when it was stopped
}

func newLocal(o observer, secret job.Secret, p plan, g *watchdog.Watchdog) *local {
	a := &local{
		observer: o,
		secret:   secret,
		plan:     p,
		cpus:     p.cpus(),
		guard:    g,
		starts:   make(chan func()),
		quit:     make(chan struct{}),
		children: make(map[job.Process]*child),
		arenas:   make(map[int]*os.File),
		sharing:  make(map[job.Process]bool),
	}
	go a.parent()
	return a
}

// cpus gives the processes of this host their processors. Where the kernel
// does not say what there is, nothing is bound.
func (p *plan) cpus() map[job.Process][]int {
	if p.Bind == "" || p.Bind == cores.None {
		return nil
	}
	usable, err := cores.Usable()
	if err != nil {
		return nil
	}
	all := make(map[job.Process][]int)
	for i, share := range cores.Spread(p.Bind, usable, len(p.Processes)) {
		all[p.Processes[i]] = share
	}
	return all
}

// watch begins to look for processes that are stopped. While paused returns
// true that is none of their own doing.
func (a *local) watch(paused func() bool) { go a.watchStops(paused) }

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

func (a *local) start(p job.Process, r role) {
	c, err := a.launch(p, r)
	if err != nil {
		go a.observer.started(p, 0, fmt.Errorf("start %v: %w", p, err))
		return
	}
	go func() {
		a.observer.started(p, c.cmd.Process.Pid, nil)
		for s := range output.Streams {
			go a.pump(c, s)
		}
		go a.converse(c)
		a.reap(c)
	}()
}

// launch starts a process with its ends of everything.
func (a *local) launch(p job.Process, r role) (*child, error) {
	c := &child{process: p, silent: make(chan struct{}), crashed: make(chan struct{})}
	var theirs []*os.File
	ok := false
	defer func() {
		closeFiles(theirs)
		if !ok {
			c.release()
		}
	}()
	var err error
	var in job.Inheritance
	if c.conn, in.Control, err = job.Pair(); err != nil {
		return nil, err
	}
	theirs = append(theirs, in.Control)
	if in.Secret, err = a.secret.File(); err != nil {
		return nil, err
	}
	theirs = append(theirs, in.Secret)
	var w [output.Streams]*os.File
	for s := range output.Streams {
		if c.pipes[s], w[s], err = os.Pipe(); err != nil {
			return nil, fmt.Errorf("create a pipe: %w", err)
		}
		theirs = append(theirs, w[s])
	}
	in.Crash = w[output.Crashes]
	if a.word != nil {
		in.Lease = a.word.File() // which stays the word's
	}
	environ := append(in.Environ(p), watchdog.Mark())
	if r == spare {
		environ = append(environ, job.EnvProcess+"=spare") // the last one counts
	}
	c.cmd = &exec.Cmd{
		Path: a.plan.Path, Args: a.plan.Args, Dir: a.plan.Dir,
		Env:    append(a.plan.Environ[:len(a.plan.Environ):len(a.plan.Environ)], environ...),
		Stdout: w[output.Stdout], Stderr: w[output.Stderr], ExtraFiles: in.Files(),
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	if a.plan.Stdin && p.Rank == 0 && r == first { // a newcomer's state holds what was read
		var r *os.File
		if r, c.stdin, err = os.Pipe(); err != nil {
			return nil, fmt.Errorf("create a pipe: %w", err)
		}
		theirs = append(theirs, r)
		c.cmd.Stdin = r
	}
	result := make(chan error)
	a.guard.Starting()
	a.starts <- func() { result <- cores.During(a.cpus[p], c.cmd.Start) }
	if err := <-result; err != nil {
		a.guard.NotStarted()
		return nil, err
	}
	ok = true
	a.guard.Watch(c.cmd.Process.Pid)
	c.mail = newMailbox(c.conn, func(err error) { a.observer.unheard(p, silence{silenceUntold, err.Error()}) })
	a.mu.Lock()
	a.children[p] = c
	a.mu.Unlock()
	return c, nil
}

// release closes what a process that was not started would have had.
func (c *child) release() {
	if c.conn != nil {
		c.conn.Close()
	}
	closeFiles(c.pipes[:])
	closeFiles([]*os.File{c.stdin})
}

// converse is the end of one control connection: the handshake, then all that
// the process says.
func (a *local) converse(c *child) {
	defer close(c.silent)
	hello, err := job.Answer(c.conn, &a.secret)
	if err == nil {
		a.follow(c, c.conn.PID())
		a.observer.hello(c.process, hello)
		for {
			msg, files, e := c.conn.Read()
			closeFiles(files)
			if err = e; err != nil {
				break
			}
			a.observer.message(c.process, msg)
		}
	}
	s := silence{silenceEnd, err.Error()}
	switch {
	case errors.Is(err, job.ErrRefused):
		s.Why = silenceRefused
	case errors.Is(err, job.ErrMessage):
		s.Why = silenceNonsense
	}
	a.observer.unheard(c.process, s)
}

// reap waits for the end of a process. Its group is killed before its number
// is free again.
func (a *local) reap(c *child) {
	pid := c.cmd.Process.Pid
	if err := proc.AwaitExit(pid); err != nil { // a kernel without pidfds
		_ = c.cmd.Wait()
	}
	proc.SignalGroup(pid, syscall.SIGKILL)
	a.guard.Forget(pid)
	a.mu.Lock()
	delete(a.children, c.process)
	program := c.program
	if program != 0 {
		proc.Signal(program, syscall.SIGKILL)
	}
	a.mu.Unlock()
	if program != 0 { // until it is gone it may write what others share with it
		_ = proc.AwaitExit(program) // a kernel without pidfds: it is as good as gone
	}
	_ = c.cmd.Wait() // the state says it all
	c.last.Store(true)
	for _, r := range c.pipes {
		_ = r.SetReadDeadline(time.Now().Add(output.DrainTime)) // it may be closed
	}
	// Its last messages and the text of its crash say why it died.
	settled := time.NewTimer(settleTime)
	defer settled.Stop()
	for _, end := range []chan struct{}{c.silent, c.crashed} {
		select {
		case <-end:
		case <-settled.C:
			settled.Reset(0) // the other is given no time of its own
		}
	}
	c.mail.close()
	c.conn.Close()
	<-c.silent
	closeFiles([]*os.File{c.stdin})
	a.observer.exited(c.process, exitOf(c.cmd.ProcessState))
}

// follow watches the program of a process that was started as a wrapper.
func (a *local) follow(c *child, pid int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.children[c.process] == nil || pid == 0 || pid == c.cmd.Process.Pid {
		return
	}
	c.program = pid
	go func() {
		if err := proc.AwaitExit(pid); err != nil && !errors.Is(err, unix.ESRCH) {
			return // a kernel without pidfds: the wrapper's end has to do
		}
		a.mu.Lock()
		c.program = 0
		a.mu.Unlock()
		time.AfterFunc(wrapperTime, func() {
			if a.child(c.process) == c {
				a.observer.programGone(c.process)
			}
		})
	}()
}

// child returns the process if it is not gone.
func (a *local) child(p job.Process) *child {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.children[p]
}

func (a *local) send(p job.Process, m *job.Message) { a.mail(p, m) }

func (a *local) mail(p job.Process, m *job.Message, files ...*os.File) {
	if c := a.child(p); c != nil {
		c.mail.send(m, files...)
		return
	}
	closeFiles(files)
}

func (a *local) feed(p job.Process, b []byte) {
	c := a.child(p)
	switch {
	case c == nil || c.stdin == nil:
	case len(b) == 0:
		c.stdin.Close()
	default:
		_, _ = c.stdin.Write(b) // a process that does not read any more must not stop the others
	}
}

func (a *local) signal(p job.Process, s syscall.Signal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.children[p]
	if c == nil {
		return
	}
	proc.SignalGroup(c.cmd.Process.Pid, s)
	if c.program != 0 {
		proc.Signal(c.program, s)
	}
}

// killTime is how long the agent watches its processes die; what takes longer
// dies without it.
const killTime = 50 * time.Millisecond

// killAll kills every process and waits for their end, not for long.
func (a *local) killAll() {
	for deadline := time.Now().Add(killTime); ; time.Sleep(time.Millisecond) {
		a.mu.Lock()
		for _, c := range a.children {
			proc.SignalGroup(c.cmd.Process.Pid, syscall.SIGKILL)
			if c.program != 0 {
				proc.Signal(c.program, syscall.SIGKILL)
			}
		}
		left := len(a.children)
		a.mu.Unlock()
		if left == 0 || time.Now().After(deadline) {
			return
		}
	}
}

// doubtful: this host is lost only together with the head.
func (a *local) doubtful() bool { return false }

func (a *local) close() {
	close(a.quit)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range a.arenas {
		f.Close()
	}
}
