package supervise

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

	"github.com/intrahpc/intra/internal/agent/launcher"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/agent/watchdog"
	"github.com/intrahpc/intra/internal/base/affinity"
	"github.com/intrahpc/intra/internal/base/cure"
	"github.com/intrahpc/intra/internal/base/lease"
	"github.com/intrahpc/intra/internal/base/proc"
	"github.com/intrahpc/intra/internal/job"
)

const (
	deathTime   = 300 * time.Millisecond // from a death until the control connection must be read to the end
	wrapperTime = 300 * time.Millisecond // from the end of a program until its wrapper must have ended
)

// Agent starts, watches and ends the processes of its host. It holds the near ends of their
// control connections, pipes and links within the host. Its methods, except Feed, do not block
// for long.
type Agent struct {
	observer Observer
	secret   job.Secret
	plan     Plan
	program  *program
	watchdog *watchdog.Watchdog                 // nil: no watchdog
	identity func() (*launcher.Identity, error) // returns the MPI identity for the next first process; nil: the processes have none
	lease    *lease.Word                        // until when the processes may act; nil: this host has no lease
	memory   *memory                            // counts kills for lack of memory
	starts   chan func()                        // functions to run on the thread that is the processes' parent
	quit     chan struct{}

	mu       sync.Mutex
	cpus     map[job.Process][]int  // processors that a process is bound to; no entry: it is not bound
	children map[job.Process]*child // processes that have not ended
	arenas   map[int]*os.File       // shared memory, by rank
	board    *affinity.Board        // where the processes record on which processors they run; nil before the first process
}

// Config configures an Agent.
type Config struct {
	Observer Observer
	Secret   job.Secret
	Plan     Plan
	Watchdog *watchdog.Watchdog // nil: there is none
	Lease    *lease.Word        // until when the processes may act; nil: this host has no lease
	// Identity returns the identity of an MPI launcher's process for the next first process.
	// nil: the processes have none.
	Identity func() (*launcher.Identity, error)
}

// New returns an agent without processes. Close ends it.
func New(c Config) *Agent {
	a := &Agent{
		observer: c.Observer,
		secret:   c.Secret,
		plan:     c.Plan,
		watchdog: c.Watchdog,
		lease:    c.Lease,
		identity: c.Identity,
		cpus:     c.Plan.cpus(),
		memory:   watchMemory("/"),
		starts:   make(chan func()),
		quit:     make(chan struct{}),
		children: make(map[job.Process]*child),
		arenas:   make(map[int]*os.File),
		program:  &program{path: c.Plan.Path},
	}
	if c.Plan.Keep {
		a.program = keep(c.Plan.Path)
	}
	go a.parent()
	return a
}

// Watch begins to look for stopped processes. While paused returns true, stops are caused by
// the host's lease and not reported.
func (a *Agent) Watch(paused func() bool) { go a.watchStops(paused) }

// parent starts all processes from one thread, which lives as long as the agent: the kernel
// sends a process its parent-death signal when the thread that started it ends.
func (a *Agent) parent() {
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

// Start starts a process; Observer.Started receives the result.
func (a *Agent) Start(p job.Process, r Role) {
	c, err := a.launch(p, r)
	if err != nil {
		go a.observer.Started(p, 0, fmt.Errorf("start %v: %w", p, cure.Write(err)))
		return
	}
	go func() {
		a.observer.Started(p, c.cmd.Process.Pid, nil)
		for s := range output.Streams {
			go a.pump(c, s)
		}
		go a.converse(c)
		a.reap(c)
	}()
}

// launch starts a process with its control connection, pipes and other
// descriptors.
func (a *Agent) launch(p job.Process, r Role) (*child, error) {
	c := &child{process: p, leave: func() {}, silent: make(chan struct{}), crashed: make(chan struct{})}
	var theirs []*os.File
	ok := false
	defer func() {
		closeFiles(theirs)
		if !ok {
			c.release()
		}
	}()
	file, err := a.program.file()
	if err != nil {
		return nil, err
	}
	path, args, err := a.plan.command(file, p, r)
	if err != nil {
		return nil, err
	}
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
	in.Crash, in.Local = w[output.Crashes], len(a.plan.Processes)
	if a.lease != nil {
		in.Lease = a.lease.File() // the lease keeps ownership of the file
	}
	if err := a.takeSlot(c, &in); err != nil {
		return nil, err
	}
	environ := append(in.Environ(p), watchdog.Mark())
	if r == Spare {
		environ = append(environ, job.EnvProcess+"=spare") // the last entry for a name counts
	}
	shared, files := a.plan.Environ, in.Files()
	if r == First && a.identity != nil {
		id, err := a.identity()
		if err != nil {
			return nil, err
		}
		shared = id.Environ(shared, job.FirstFile+len(files))
		if id.PMI != nil {
			theirs, files = append(theirs, id.PMI), append(files, id.PMI)
		}
		a.bind(p, id.Processors)
	}
	c.cmd = &exec.Cmd{
		Path: path, Args: args, Dir: a.plan.Dir,
		Env:    append(shared[:len(shared):len(shared)], environ...),
		Stdout: w[output.Stdout], Stderr: w[output.Stderr], ExtraFiles: files,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	if a.plan.Stdin && p.Rank == 0 && r == First { // the state of a joiner already contains the input read before
		var r *os.File
		if r, c.stdin, err = os.Pipe(); err != nil {
			return nil, fmt.Errorf("create a pipe: %w", err)
		}
		theirs = append(theirs, r)
		c.cmd.Stdin = r
	}
	result := make(chan error)
	a.watchdog.Starting()
	a.mu.Lock()
	cpus := a.cpus[p]
	a.mu.Unlock()
	a.starts <- func() { result <- affinity.During(cpus, c.cmd.Start) }
	if err := <-result; err != nil {
		a.watchdog.NotStarted()
		if _, e := os.Stat(a.plan.Dir); a.plan.Dir != "" && e != nil { // otherwise the error would name the program
			return nil, fmt.Errorf("its working folder is not there: %w", e)
		}
		return nil, cure.Start(err, path)
	}
	ok = true
	a.watchdog.Watch(c.cmd.Process.Pid)
	c.mail = newMailbox(c.conn, func(err error) { a.observer.Unreachable(p, Silence{SilenceUndelivered, err.Error()}) })
	a.mu.Lock()
	a.children[p] = c
	a.mu.Unlock()
	return c, nil
}

// converse reads one control connection to its end: the handshake, then the
// messages of the process.
func (a *Agent) converse(c *child) {
	defer close(c.silent)
	hello, err := job.Answer(c.conn, &a.secret)
	if err == nil {
		a.follow(c, c.conn.PID())
		a.observer.Hello(c.process, hello)
		for {
			msg, files, e := c.conn.Read()
			closeFiles(files)
			if err = e; err != nil {
				break
			}
			if msg.Kind == job.KindWant {
				a.want(c, job.Endpoint{Process: *msg.Process, Incarnation: msg.Incarnation})
				continue
			}
			a.observer.Message(c.process, msg)
		}
	}
	s := Silence{SilenceEnd, err.Error()}
	switch {
	case errors.Is(err, job.ErrRefused):
		s.Why = SilenceRefused
	case errors.Is(err, job.ErrMessage):
		s.Why = SilenceNonsense
	}
	a.observer.Unreachable(c.process, s)
}

// reap waits for the end of a process. It kills the process group before the
// kernel can reuse its number.
func (a *Agent) reap(c *child) {
	pid := c.cmd.Process.Pid
	if err := proc.AwaitExit(pid); err != nil { // the kernel has no pidfds
		_ = c.cmd.Wait()
	}
	proc.SignalGroup(pid, syscall.SIGKILL)
	a.watchdog.Forget(pid)
	a.mu.Lock()
	delete(a.children, c.process)
	program := c.program
	if program != 0 {
		proc.Signal(program, syscall.SIGKILL)
	}
	a.mu.Unlock()
	if program != 0 { // until it has ended, the program may write to shared memory
		_ = proc.AwaitExit(program) // without pidfds it counts as ended
	}
	_ = c.cmd.Wait() // ProcessState holds the result
	e := exitOf(c.cmd.ProcessState)
	if e.killed() && !c.ended.Load() {
		e.Memory = a.memory.killed()
	}
	c.leave()
	c.last.Store(true)
	for _, r := range c.pipes {
		_ = r.SetReadDeadline(time.Now().Add(output.DrainTime)) // the pipe may be closed
	}
	// The last messages of the process and its crash text give the reason for its death.
	settled := time.NewTimer(deathTime)
	defer settled.Stop()
	for _, end := range []chan struct{}{c.silent, c.crashed} {
		select {
		case <-end:
		case <-settled.C:
			settled.Reset(0) // the other channel gets no extra time
		}
	}
	c.mail.close()
	c.conn.Close()
	<-c.silent
	closeFiles([]*os.File{c.stdin})
	a.observer.Exited(c.process, e)
}

// follow watches the program of a process that was started through a wrapper.
func (a *Agent) follow(c *child, pid int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.children[c.process] == nil || pid == 0 || pid == c.cmd.Process.Pid {
		return
	}
	c.program = pid
	go func() {
		if err := proc.AwaitExit(pid); err != nil && !errors.Is(err, unix.ESRCH) {
			return // without pidfds only the end of the wrapper is noticed
		}
		a.mu.Lock()
		c.program = 0
		a.mu.Unlock()
		time.AfterFunc(wrapperTime, func() {
			if a.child(c.process) == c {
				a.observer.ProgramGone(c.process)
			}
		})
	}()
}

// child returns a process. It returns nil if the process has ended.
func (a *Agent) child(p job.Process) *child {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.children[p]
}

// Send sends a message to a process, if it still exists. With its Setup, a process gets the
// memory that it shares. It gets that even if no other replica of its rank lives, since later
// replicas must find it there.
func (a *Agent) Send(p job.Process, m *job.Message) {
	if m.Kind == job.KindSetup {
		a.placed(p, m.Setup)
	}
	a.mail(p, m)
	if m.Kind == job.KindSetup && m.Setup.Together {
		a.share(p, m.Setup.Self.Rank)
	}
}

func (a *Agent) mail(p job.Process, m *job.Message, files ...*os.File) {
	if c := a.child(p); c != nil {
		c.mail.send(m, files...)
		return
	}
	closeFiles(files)
}

// Feed writes to the standard input of p; an empty b closes it. It blocks until
// there is room.
func (a *Agent) Feed(p job.Process, b []byte) {
	c := a.child(p)
	switch {
	case c == nil || c.stdin == nil:
	case len(b) == 0:
		c.stdin.Close()
	default:
		_, _ = c.stdin.Write(b) // a process that no longer reads must not stop the input of the others
	}
}

// Signal sends a signal to a process and all processes that it has started.
func (a *Agent) Signal(p job.Process, s syscall.Signal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.children[p]
	if c == nil {
		return
	}
	c.signal(s)
}

// signal sends a signal to a child and all processes that it has started. The caller holds the
// agent's lock.
func (c *child) signal(s syscall.Signal) {
	if s == syscall.SIGKILL {
		c.ended.Store(true)
	}
	proc.SignalGroup(c.cmd.Process.Pid, s)
	if c.program != 0 {
		proc.Signal(c.program, s)
	}
}

// SignalAll sends a signal to all processes and all processes that they have started.
func (a *Agent) SignalAll(s syscall.Signal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.children {
		c.signal(s)
	}
}

// killTime bounds how long the agent waits for the deaths of its processes. Slower processes
// die without it.
const killTime = 50 * time.Millisecond

// KillAll kills every process, and waits up to killTime for their end.
func (a *Agent) KillAll() {
	for deadline := time.Now().Add(killTime); ; time.Sleep(time.Millisecond) {
		a.SignalAll(syscall.SIGKILL)
		a.mu.Lock()
		left := len(a.children)
		a.mu.Unlock()
		if left == 0 || time.Now().After(deadline) {
			return
		}
	}
}

// Doubtful returns false: a local agent's host is lost only together with the head.
func (a *Agent) Doubtful() bool { return false }

// Close releases the resources of the agent, once all processes have ended.
func (a *Agent) Close() {
	close(a.quit)
	a.mu.Lock()
	for _, f := range a.arenas {
		f.Close()
	}
	board := a.board
	a.mu.Unlock()
	a.program.close()
	if board != nil {
		board.Close()
	}
}
