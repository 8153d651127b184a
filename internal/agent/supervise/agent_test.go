package supervise

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
)

func TestMain(m *testing.M) {
	steps.Main()
	os.Setenv("GORACE", "atexit_sleep_ms=0") // for the processes
	os.Exit(m.Run())
}

// ward is an agent under test, and its events.
type ward struct {
	*Agent
	t *testing.T

	mu    sync.Mutex
	some  *sync.Cond
	seen  []string
	text  map[job.Process]*[output.Streams]strings.Builder
	pids  map[job.Process]int
	stops map[job.Process]time.Duration
}

// newWard returns an agent whose processes run the given program.
func newWard(t *testing.T, program ...string) *ward {
	return watch(t, Plan{Path: os.Args[0], Args: steps.Program(program...), Environ: os.Environ(), Stdin: true})
}

func watch(t *testing.T, p Plan) *ward {
	w := &ward{t: t, text: make(map[job.Process]*[output.Streams]strings.Builder), pids: make(map[job.Process]int), stops: make(map[job.Process]time.Duration)}
	w.some = sync.NewCond(&w.mu)
	w.Agent = New(Config{Observer: w, Secret: job.NewSecret(), Plan: p})
	t.Cleanup(func() {
		w.KillAll()
		w.Close()
	})
	return w
}

func (w *ward) see(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, fmt.Sprintf(format, args...))
	w.some.Broadcast()
}

// forget removes all events from the record.
func (w *ward) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = nil
}

// await waits for an event that begins with prefix, and returns it.
func (w *ward) await(prefix string) (line string) {
	w.t.Helper()
	alarm := time.AfterFunc(time.Minute, func() { w.see("a minute has passed") })
	defer alarm.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for _, l := range w.seen {
			if strings.HasPrefix(l, prefix) {
				return l
			}
			require.NotEqual(w.t, "a minute has passed", l, "%q is not in %q", prefix, w.seen)
		}
		w.some.Wait()
	}
}

// all returns the events so far.
func (w *ward) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string{}, w.seen...)
}

// written returns all that a process has written to a stream so far.
func (w *ward) written(p job.Process, s output.Stream) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.text[p] == nil {
		return ""
	}
	return w.text[p][s].String()
}

func (w *ward) Started(p job.Process, pid int, err error) {
	w.mu.Lock()
	w.pids[p] = pid
	w.mu.Unlock()
	w.see("started %v: %v", p, err)
}
func (w *ward) Hello(p job.Process, h *job.Hello)     { w.see("hello %v, tag %v", p, h.Tag) }
func (w *ward) Message(p job.Process, m *job.Message) { w.see("%s %v", m.Kind, p) }
func (w *ward) Unreachable(p job.Process, s Silence)  { w.see("unheard %v, %s", p, s.Why) }
func (w *ward) Output(p job.Process, s output.Stream, b []byte) {
	if len(b) == 0 {
		w.see("end %v, %d", p, s)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.text[p] == nil {
		w.text[p] = new([output.Streams]strings.Builder)
	}
	w.text[p][s].Write(b)
}
func (w *ward) Quiet(p job.Process, n uint64) { w.see("quiet %v, %d", p, n) }
func (w *ward) Stopped(p job.Process, d time.Duration) {
	w.mu.Lock()
	w.stops[p] = d
	w.mu.Unlock()
	w.see("stopped %v", p)
}
func (w *ward) ProgramGone(p job.Process)    { w.see("gone %v", p) }
func (w *ward) Exited(p job.Process, e Exit) { w.see("exited %v, %s", p, e.Text) }
func (w *ward) Failed(err error)             { w.see("failed: %v", err) }

// seat gives a process its slot, as the only process of its job.
func (w *ward) seat(p job.Process) {
	w.Send(p, &job.Message{Kind: job.KindSetup, Setup: &job.Setup{Self: p, Incarnation: 1, Degrees: []int{1}}})
	w.Send(p, &job.Message{Kind: job.KindStart})
}

var one, two = job.Process{}, job.Process{Replica: 1}

// A process joins, receives its slot, reports that it has finished, and is released. Its
// end is reported after all its messages, and all its output arrives.
func TestLifeOfAProcess(t *testing.T) {
	w := newWard(t, "join", "out:a line", "err:another", "part:no end", "finish")
	w.Start(one, First)
	w.await("hello 0.0, tag true")
	w.seat(one)
	w.await("finish 0.0")
	w.Send(one, &job.Message{Kind: job.KindRelease})
	w.await("exited 0.0, exit status 0")
	for s := range output.Streams {
		w.await(fmt.Sprintf("end 0.0, %d", s))
	}
	require.Equal(t, "a line\nno end", w.written(one, output.Stdout))
	require.Equal(t, "another\n", w.written(one, output.Stderr))
	var order []string
	for _, l := range w.all() {
		if !strings.HasPrefix(l, "end") {
			order = append(order, l)
		}
	}
	require.Equal(t, []string{"started 0.0: <nil>", "hello 0.0, tag true", "finish 0.0", "unheard 0.0, end", "exited 0.0, exit status 0"}, order)
	w.Send(one, &job.Message{Kind: job.KindRelease}) // the process has ended
	w.Signal(one, syscall.SIGKILL)
	w.Feed(one, []byte("text"))
	w.Agent.Quiet(one, 1)
}

// If a program cannot be started, the agent reports its name and the reason. The failed start
// leaves no open files.
func TestProcessesThatCannotBeStarted(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	require.NoError(t, os.WriteFile(text, []byte("no program"), 0o700))
	for want, p := range map[string]Plan{
		"no such file or directory": {Path: filepath.Join(dir, "nowhere")},
		"permission denied":         {Path: dir},
		"exec format error":         {Path: text},
		"its working folder is not there: stat " + filepath.Join(dir, "nowhere"): {Path: os.Args[0], Dir: filepath.Join(dir, "nowhere")},
		"fork/exec " + filepath.Join(text, "below"):                              {Path: filepath.Join(text, "below")},
	} {
		w := watch(t, p)
		files := descriptors(t) + 1 // plus the board of the host, which stays open
		w.Start(two, First)
		require.Contains(t, w.await("started"), want)
		require.True(t, strings.HasPrefix(w.await("started"), "started 0.1: start 0.1: "))
		require.Eventually(t, func() bool { return descriptors(t) <= files }, 10*time.Second, time.Millisecond, "the failed start leaves a file open")
		slot, _ := w.board.Take()
		require.Zero(t, slot, "it has no slot")
	}
}

// descriptors counts the open files of this process.
func descriptors(t *testing.T) int {
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(all)
}

// A process may end while it is being started, before it has joined, or because it violates
// the protocol. The agent reports each of these ends with its cause.
func TestEndsOfProcesses(t *testing.T) {
	for _, c := range []struct {
		name    string
		plan    Plan
		silence string
		end     string
	}{
		{"at once", Plan{Path: "/bin/true", Args: []string{"true"}}, "unheard 0.0, end", "exited 0.0, exit status 0"},
		{"by an exit code", Plan{Path: "/bin/sh", Args: []string{"sh", "-c", "exit 3"}}, "unheard 0.0, end", "exited 0.0, exit status 3"},
		{"by a signal", Plan{Path: "/bin/sh", Args: []string{"sh", "-c", "kill -9 $$"}}, "unheard 0.0, end", "exited 0.0, signal: killed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := watch(t, c.plan)
			w.Start(one, First)
			w.await(c.silence)
			w.await(c.end)
			require.Equal(t, "started 0.0: <nil>", w.all()[0], "Started is reported first")
		})
	}
}

// The text of a crash is reported separately, complete before the end of the process.
func TestTextOfACrash(t *testing.T) {
	w := newWard(t, "join", "crash")
	w.Start(one, First)
	w.await("hello")
	w.seat(one)
	w.await("exited 0.0, exit status 2")
	w.await("end 0.0, 2")
	require.Contains(t, w.written(one, output.Crashes), "boom")
	require.Contains(t, w.written(one, output.Crashes), "goroutine ")
}

// A signal reaches the process and all processes that it has started. KillAll leaves none of
// them alive.
func TestSignalsReachTheWholeGroup(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	w := watch(t, Plan{Path: "/bin/sh", Args: []string{"sh", "-c", "sleep 1000 & echo $! $$ > " + file + ".new; mv " + file + ".new " + file + "; wait"}})
	w.Start(one, First)
	var child, shell int
	require.Eventually(t, func() bool {
		b, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		n, _ := fmt.Sscan(string(b), &child, &shell)
		return n == 2
	}, time.Minute, time.Millisecond)
	w.await("started")
	w.mu.Lock()
	require.Equal(t, shell, w.pids[one])
	w.mu.Unlock()
	w.Signal(one, syscall.SIGKILL)
	w.await("exited 0.0, signal: killed")
	require.Eventually(t, func() bool { return gone(child) }, time.Minute, time.Millisecond)
	w.KillAll()
}

// gone reports whether a process has ended, or is a zombie.
func gone(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(b), ") Z ")
}

// The agent also watches the program of a wrapper. If the program ends and the wrapper does
// not, the agent reports that. A signal reaches the program even if the wrapper has put it
// into another process group.
func TestWrappers(t *testing.T) {
	program := func(steps string) Plan {
		return Plan{Path: "/bin/sh", Args: []string{"sh", "-c", "setsid " + os.Args[0] + " program: " + steps + "; exec sleep 1000"}, Environ: os.Environ()}
	}
	w := watch(t, program("join finish"))
	w.Start(one, First)
	w.await("hello")
	w.seat(one)
	w.await("finish")
	w.Send(one, &job.Message{Kind: job.KindRelease})
	w.await("gone 0.0")
	w.Signal(one, syscall.SIGKILL)
	w.await("exited 0.0, signal: killed")

	file := filepath.Join(t.TempDir(), "pids")
	w = watch(t, program("join mark:"+file+" forever"))
	w.Start(one, First)
	w.await("hello")
	w.seat(one)
	pid := steps.PIDs(t, file, 1)[0]
	w.Signal(one, syscall.SIGKILL)
	w.await("exited 0.0, signal: killed")
	require.True(t, gone(pid), "before the end is reported, since the program could write to shared memory")
}

// Standard input reaches the first processes of rank 0. A process that does not read it
// delays no other one.
func TestInputOfProcesses(t *testing.T) {
	w := newWard(t, "cat")
	w.Start(one, First)
	w.Start(two, Joiner)
	w.Start(job.Process{Rank: 1}, First)
	w.await("started 0.0")
	for _, p := range []job.Process{one, two, {Rank: 1}} {
		w.Feed(p, []byte("text\n"))
		w.Feed(p, nil)
	}
	w.await("exited 0.0")
	w.await("exited 0.1")
	w.await("exited 1.0")
	w.await("end 0.0, 0")
	require.Equal(t, "text\n", w.written(one, output.Stdout))
	require.Empty(t, w.written(two, output.Stdout)+w.written(job.Process{Rank: 1}, output.Stdout))
}

// A process is quiet once all of its output has been read. A process that has ended is never
// reported quiet.
func TestQuiet(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	w := newWard(t, "lines:20000", "mark:"+file, "cat")
	w.Start(one, First)
	steps.PIDs(t, file, 1)
	w.Agent.Quiet(one, 7)
	w.await("quiet 0.0, 7")
	require.Equal(t, 20_000, strings.Count(w.written(one, output.Stdout), "\n"))
	w.Feed(one, nil)
	w.await("exited")
	w.Agent.Quiet(one, 8)
	require.NotContains(t, w.all(), "quiet 0.0, 8")
}

// The agent reports a stopped process until it continues. If the agent itself was
// stopped, that time does not count against the process.
func TestStoppedProcesses(t *testing.T) {
	w := newWard(t, "forever")
	w.Start(one, First)
	w.await("started")
	now := time.Now()
	require.Empty(t, w.findStopped(now, false))
	w.Signal(one, syscall.SIGSTOP)
	require.Eventually(t, func() bool { return len(w.findStopped(now, false)) == 1 }, time.Minute, time.Millisecond)
	require.Equal(t, map[job.Process]time.Duration{one: 3 * time.Second}, w.findStopped(now.Add(3*time.Second), false))
	require.Equal(t, map[job.Process]time.Duration{one: 0}, w.findStopped(now.Add(9*time.Second), true), "the whole time is the pause")
	require.Equal(t, map[job.Process]time.Duration{one: time.Second}, w.findStopped(now.Add(10*time.Second), false))
	w.Signal(one, syscall.SIGCONT)
	require.Eventually(t, func() bool { return len(w.findStopped(now, false)) == 0 }, time.Minute, time.Millisecond)
	w.Signal(one, syscall.SIGSTOP)
	w.Watch(func() bool { return false })
	w.await("stopped 0.0")
}

// Two processes of a host get the two ends of a link, and frames sent through it arrive. A
// link for a later process names its slot and incarnation.
func TestLinksOfAHost(t *testing.T) {
	for _, kind := range []string{job.LinkSHM, job.LinkUnix} {
		w := newWard(t, "join", "finish")
		for _, p := range []job.Process{one, two} {
			w.Start(p, First)
			w.await("hello " + p.String())
			w.Send(p, &job.Message{Kind: job.KindSetup, Setup: &job.Setup{Self: p, Incarnation: 1, Degrees: []int{2}, Together: true}})
		}
		w.Link(HostLink{Lower: one, Higher: two, Kind: kind, Ring: 4096})
		w.Send(one, &job.Message{Kind: job.KindStart, Peers: []job.Peer{{Process: two, Incarnation: 1, Link: kind}}})
		w.Send(two, &job.Message{Kind: job.KindStart, Peers: []job.Peer{{Process: one, Incarnation: 1, Link: kind}}})
		w.await("finish 0.0")
		w.await("finish 0.1")
	}
	w := newWard(t, "forever")
	w.Link(HostLink{Lower: one, Higher: two, Kind: "string"})
	require.Contains(t, w.await("failed"), "make the link between 0.0 and 0.1: ")
	w.Link(HostLink{Lower: one, Higher: two, Kind: "string", Meet: &[2]job.Peer{{Process: one, Incarnation: 1}, {Process: two, Incarnation: 3}}})
	w.await("suspect 0.0")
}

// A process shares memory with later ones, even if none of these exists yet.
func TestMemoryOfAHost(t *testing.T) {
	for _, together := range []bool{false, true} {
		w := newWard(t, "join:any", "memory", "finish")
		w.Start(two, First)
		w.await("hello 0.1")
		w.Send(two, &job.Message{Kind: job.KindSetup, Setup: &job.Setup{Self: two, Incarnation: 1, Degrees: []int{2}, Together: together}})
		w.Send(two, &job.Message{Kind: job.KindStart})
		w.await("finish 0.1")
		w.Send(two, &job.Message{Kind: job.KindRelease})
		w.await("end 0.1, 0")
		require.Equal(t, fmt.Sprintf("shares memory: %v <nil>\n", together), w.written(two, output.Stdout))
	}
}

// The agent raises the limit on open files to the number that a job needs. If it cannot, the
// error names that number.
func TestDescriptors(t *testing.T) {
	require.NoError(t, CheckDescriptors(1, job.LinkSHM, 0))
	require.ErrorContains(t, CheckDescriptors(1<<20, job.LinkSHM, 0), "1048576 processes need up to 12582976 open files")
	require.ErrorContains(t, CheckDescriptors(1<<20, job.LinkSHM, 0), "raise it (ulimit -n), give -link tcp, or run fewer")
	require.ErrorContains(t, CheckDescriptors(2, job.LinkTCP, 1<<30), "2 processes and the live page need up to 1073741904 open files")
	require.NoError(t, CheckDescriptors(100, job.LinkTCP, 0), "whose links the processes make themselves")
	require.ErrorContains(t, CheckDescriptors(1<<40, job.LinkTCP, 0), "raise it (ulimit -n) or run fewer")
}
