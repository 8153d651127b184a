package jobtest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

var binaries jobtest.Binaries

// The test binary also serves as the programs of the jobs, which wait forever.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && programs[os.Args[1]] != nil {
		intra.Main(programs[os.Args[1]])
	}
	os.Exit(binaries.Main(m))
}

var task = intra.Register("jobtest.task")

var programs = map[string]func(*intra.Process) error{
	// Each of two ranks waits for a message of the other one.
	"receive:": func(p *intra.Process) error {
		x := make([]float64, 1)
		_, err := comm.Recv(p.World(), x, 1-p.Rank(), 70+p.Rank())
		return err
	},
	// The last of three ranks has finished the call. One of the other ranks never makes it.
	"collective:": func(p *intra.Process) error {
		c, err := p.World().Split(p.Rank()/2, 0)
		if err != nil {
			return err
		}
		switch p.Rank() {
		case 0:
			return c.Barrier()
		case 1:
			select {}
		}
		return nil
	},
	// One of two replicas never reaches the section.
	"section:": func(p *intra.Process) error {
		fmt.Fprintln(os.Stderr, "said before")
		if p.Replica() == 1 {
			select {}
		}
		x := make([]float64, 2)
		s := p.Section(intra.Static)
		s.Launch(task, func() { x[0] = 1 }, intra.Out("x", x[:1]))
		s.Launch(task, func() { x[1] = 1 }, intra.Out("x", x[1:]))
		return s.End()
	},
	// The replica that has to call the function never reaches the call.
	"once:": func(p *intra.Process) error {
		if p.Replica() == 0 {
			select {}
		}
		_, err := intra.Once(p, func() (int, error) { return 1, nil })
		return err
	},
	// One of two ranks never reaches the safe point in which a backup is taken.
	"safepoint:": func(p *intra.Process) error {
		if p.Rank() == 1 {
			select {}
		}
		return p.SafePoint()
	},
	"end:": func(*intra.Process) error { return nil },
	"panic:": func(*intra.Process) error {
		panic("on purpose")
	},
}

func spec(t *testing.T, program, flags string) jobtest.Spec {
	self, err := os.Executable()
	require.NoError(t, err)
	return jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags), Program: []string{self, program}}
}

// At the deadline every process reports its waits.
func TestDeadlineReportsWaits(t *testing.T) {
	for _, c := range []struct {
		program, flags string
		says           []string
	}{
		{"receive:", "-n 2 -r 1", []string{
			"SIGQUIT: 0.0", "receive from rank 1 with tag 70",
			"SIGQUIT: 1.0", "receive from rank 0 with tag 71",
		}},
		{"receive:", "-n 2 -r 2 -link tcp", []string{"SIGQUIT: 0.1", "SIGQUIT: 1.1"}},
		{"collective:", "-n 3 -r 1", []string{"of a collective", "the program has returned: waits to be released"}},
		{"section:", "-n 1 -r 2", []string{"section 0 lacks 1 of 2 tasks (static)", "replica 1 has not reported a section"}},
		{"once:", "-n 1 -r 2", []string{"call 0 of Once, which replica 0 runs, waits for replica 0 to have the result, the result"}},
		{"safepoint:", "-n 2 -r 1 -replace -backup 1", []string{"safe point 1, the cut: waits for what was sent before it"}},
	} {
		t.Run(c.program, func(t *testing.T) {
			t.Parallel()
			s := spec(t, c.program, c.flags)
			// For intrarun the stack of a waiting goroutine is required. The stack of its main
			// goroutine may be missing, because that goroutine runs while ranks end.
			says := append(c.says, "intra.Main(", "supervise.(*Agent).watchStops", s.String())
			for s.Deadline = 3 * time.Second; ; s.Deadline *= 2 {
				j := jobtest.Start(t, s)
				_, err := j.End()
				require.ErrorIs(t, err, jobtest.ErrHangs)
				require.Empty(t, j.Processes())
				missing := slices.IndexFunc(says, func(s string) bool { return !strings.Contains(err.Error(), s) })
				if missing < 0 {
					return
				}
				// On a busy machine the processes may not have reached their waits yet.
				require.Less(t, s.Deadline, time.Minute, "%s is not in %.20000s", says[missing], err)
			}
		})
	}
}

// intrarun shows the report of a process that got SIGQUIT, with the name of the process.
func TestQuitIsForwarded(t *testing.T) {
	j := jobtest.Start(t, spec(t, "section:", "-n 1 -r 2 -v"))
	pid := func() (pid int) {
		for _, p := range j.Processes() {
			if p.Name == "0.1" {
				pid = p.PID
			}
		}
		return pid
	}
	require.Eventually(t, func() bool { return pid() > 0 && strings.Contains(j.Stderr(), "said before") }, 20*time.Second, 10*time.Millisecond)
	require.NoError(t, syscall.Kill(pid(), syscall.SIGQUIT))
	r := j.Wait(t)
	require.Zero(t, r.Code, r.Stderr)
	require.Equal(t, 1, strings.Count(r.Stderr, "said before"), r.Stderr)
	require.Contains(t, r.Stderr, "0.1: SIGQUIT: 0.1")
	require.Contains(t, r.Stderr, "0.1: waits: the program runs")
	require.Regexp(t, `0\.1: goroutine 1 \[`, r.Stderr)
}

// Processes that a test has started end with the test.
func TestNothingOutlivesItsTest(t *testing.T) {
	var j *jobtest.Job
	t.Run("inner", func(t *testing.T) {
		j = jobtest.Start(t, spec(t, "receive:", "-n 2 -r 2 -replace"))
		require.Eventually(t, func() bool { return len(j.Processes()) >= 6 }, 20*time.Second, 10*time.Millisecond) // including the watchdog
	})
	require.Empty(t, j.Processes())
	<-j.Ended()
}

func TestResult(t *testing.T) {
	r := jobtest.Run(t, spec(t, "end:", "-n 2 -r 2"))
	require.Zero(t, r.Code, r.Stderr)
	var report struct {
		Degrees []int `json:"degrees"`
	}
	r.Decode(t, &report)
	require.Equal(t, []int{2, 2}, report.Degrees)
	r = jobtest.Run(t, spec(t, "panic:", "-n 1 -r 1"))
	require.NotZero(t, r.Code)
	require.Contains(t, r.Stderr, "on purpose")
}

// A file that a job leaves in the folder for temporary files is found.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	s := spec(t, "end:", "-n 1 -r 1")
	script := filepath.Join(t.TempDir(), "litter")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\necho > $TMPDIR/litter\nexec \"$@\"\n"), 0o755))
	s.Program = append([]string{script}, s.Program...)
	_, err := jobtest.Start(t, s).End()
	require.ErrorIs(t, err, jobtest.ErrLeft)
	require.ErrorContains(t, err, "/tmp/litter")
}
