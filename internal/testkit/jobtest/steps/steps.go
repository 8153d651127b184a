package steps

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/arena"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// Argument is the first argument of the program; the steps follow.
const Argument = "program:"

// Main runs the program if this process was started for it, and then does not return.
// TestMain calls it first.
func Main() {
	if len(os.Args) > 1 && os.Args[1] == Argument {
		s := new(script)
		s.stats.Store(new(job.Stats))
		os.Exit(s.run(os.Args[2:]))
	}
}

// Program returns the command line that runs these steps in this test binary.
func Program(steps ...string) []string { return append([]string{os.Args[0], Argument}, steps...) }

// PIDs waits until n processes have written their process IDs to a file, with the step
// "mark".
func PIDs(t testing.TB, file string, n int) (all []int) {
	t.Helper()
	require.Eventually(t, func() bool {
		b, _ := os.ReadFile(file)
		all = nil
		for _, f := range strings.Fields(string(b)) {
			pid, _ := strconv.Atoi(f)
			all = append(all, pid)
		}
		return len(all) == n && bytes.HasSuffix(b, []byte("\n"))
	}, jobtest.Deadline, 10*time.Millisecond, "%d processes want to have come here", n)
	return all
}

// script is a program made of steps, one per argument. A step is NAME, NAME:ARGUMENT, or
// either of them after RANK.REPLICA@, RANK@ for all replicas of the rank, or
// !RANK.REPLICA@ for all but one process.
type script struct {
	session     *job.Session
	released    chan struct{}
	stats       atomic.Pointer[job.Stats] // current counts, which are sent with later messages, too
	unreachable atomic.Bool               // continue after the control connection was lost
	verdicts    atomic.Pointer[string]    // name of the file in which verdicts are recorded
}

func (s *script) run(steps []string) int {
	for _, step := range steps {
		if who, rest, ok := strings.Cut(step, "@"); ok {
			if !s.is(who) {
				continue
			}
			step = rest
		}
		name, arg, _ := strings.Cut(step, ":")
		if code := s.step(name, arg); code >= 0 {
			return code
		}
	}
	return 0
}

func (s *script) is(who string) bool {
	self := s.session.Setup().Self
	if other, not := strings.CutPrefix(who, "!"); not {
		return self.String() != other
	}
	return who == self.String() || who == strconv.Itoa(self.Rank)
}

// step performs a step. It returns an exit code, or -1 to continue.
func (s *script) step(name, arg string) int {
	switch name {
	case "join", "join-untagged", "join-only":
		session, err := job.Join(context.Background(), job.Hello{Tag: name != "join-untagged"})
		if err != nil {
			fmt.Fprintln(os.Stderr, "program:", err)
			return 2
		}
		if session == nil {
			fmt.Fprintln(os.Stderr, "program: no launcher")
			return 9
		}
		s.session, s.released = session, make(chan struct{})
		if name == "join-only" {
			break
		}
		links, err := session.Connect(context.Background())
		if err != nil {
			fmt.Fprintln(os.Stderr, "program:", err)
			return 2
		}
		// A peer that dies at once may never have been connected. The argument any accepts
		// this.
		if want := len(job.Processes(session.Setup().Degrees)) - 1; arg != "any" && len(links) != want {
			fmt.Fprintf(os.Stderr, "program: %d links, want %d\n", len(links), want)
			return 8
		}
		go s.follow()
	case "out":
		fmt.Println(arg)
	case "memory":
		self := s.session.Setup()
		a, err := s.session.Arena(arena.Life{Replica: self.Self.Replica, Incarnation: self.Incarnation})
		fmt.Println("shares memory:", a != nil, err)
	case "part":
		fmt.Print(arg)
	case "err":
		fmt.Fprintln(os.Stderr, arg)
	case "lines":
		n, _ := strconv.Atoi(arg)
		w := bufio.NewWriter(os.Stdout)
		for i := range n {
			fmt.Fprintf(w, "line %d\n", i)
		}
		w.Flush()
	case "slowly": // prints that many lines, 2 ms apart
		n, _ := strconv.Atoi(arg)
		for i := range n {
			fmt.Println("line", i)
			time.Sleep(2 * time.Millisecond)
		}
	case "sleep":
		d, _ := time.ParseDuration(arg)
		time.Sleep(d)
	case "await": // creates a file
		for _, err := os.Stat(arg); err != nil; _, err = os.Stat(arg) {
			time.Sleep(10 * time.Millisecond)
		}
	case "forever":
		select {}
	case "until": // waits until a file exists
		for {
			if _, err := os.Stat(arg); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	case "stats":
		n, _ := strconv.ParseInt(arg, 10, 64)
		s.stats.Store(&job.Stats{Sections: n, TasksRun: 2 * n, TaskTypes: map[string]job.TaskStats{"pkg.f": {Run: 2 * n, Decision: "share"}}})
		s.session.Stats(s.counts)
	case "fired":
		k := s.session.Setup().Kills[0]
		if arg != k.When() {
			fmt.Fprintln(os.Stderr, "program: kill at", k.When())
			return 7
		}
		s.session.Fired(k, s.counts())
		s.signal(syscall.SIGKILL)
	case "kill":
		n, _ := strconv.Atoi(arg)
		s.signal(syscall.Signal(n))
	case "suspect":
		p, _ := job.ParseProcess(arg)
		s.session.Suspect(job.Endpoint{Process: p, Incarnation: 1}, io.ErrUnexpectedEOF)
	case "fail":
		kind, text, _ := strings.Cut(arg, ":")
		s.session.Fail(job.Failure{Kind: job.FailureKind(kind), Text: text}, s.counts())
		return 1
	case "fail-at-length": // fails with a text of that many bytes
		n, _ := strconv.Atoi(arg)
		s.session.Fail(job.Failure{Kind: job.FailPanic, Text: strings.Repeat("\x00", n)}, s.counts())
		return 1
	case "crash-at-length":
		n, _ := strconv.Atoi(arg)
		go func() { panic(strings.Repeat("x", n)) }()
		select {}
	case "crash": // panics in another goroutine, where no code can recover
		go func() { panic("boom") }()
		select {}
	case "fatal": // a fatal error, not a panic: the runtime ends the process
		m := map[int]int{}
		for range 8 {
			go func() {
				for {
					m[1]++
				}
			}()
		}
		select {}
	case "exit":
		code, _ := strconv.Atoi(arg)
		return code
	case "environ":
		for _, v := range os.Environ() {
			if strings.HasPrefix(v, "INTRA_") {
				fmt.Println("leaked", v)
			}
		}
	case "cat":
		io.Copy(os.Stdout, os.Stdin)
	case "close":
		s.unreachable.Store(true)
		s.session.Close()
	case "mark": // adds the ID of this process to a file
		f, _ := os.OpenFile(arg, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
		fmt.Fprintln(f, os.Getpid())
		f.Close()
	case "leased": // makes a file grow while the host has a lease
		for s.session.Leased(context.Background()) == nil {
			f, _ := os.OpenFile(arg, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
			fmt.Fprintln(f, "effect")
			f.Close()
			time.Sleep(time.Millisecond)
		}
	case "verdicts": // records in a file when this process received verdicts
		s.verdicts.Store(&arg)
	case "finish":
		if err := s.session.Finish(s.counts()); err != nil {
			return 6
		}
		<-s.released
	default:
		fmt.Fprintln(os.Stderr, "program: unknown step", name)
		return 99
	}
	return -1
}

func (s *script) counts() job.Stats { return *s.stats.Load() }

func (s *script) signal(sig syscall.Signal) {
	syscall.Kill(os.Getpid(), sig)
	time.Sleep(time.Minute)
}

// follow ends the process when the job ends, as the engine does.
func (s *script) follow() {
	for {
		e, err := s.session.Next()
		if err != nil {
			if s.unreachable.Load() {
				return
			}
			os.Exit(5)
		}
		switch e := e.(type) {
		case job.Verdict:
			if file := s.verdicts.Load(); file != nil {
				f, _ := os.OpenFile(*file, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
				fmt.Fprintln(f, time.Now().UnixNano())
				f.Close()
			}
		case job.Release:
			close(s.released)
		case job.End:
			os.Exit(e.Code)
		}
	}
}
