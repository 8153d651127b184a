package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
	intra "github.com/intrahpc/intra/runtime"
)

// workUntil is a program that goes on until there is a file of that name. It
// passes messages all the time, or, computing, once.
func workUntil(p *intra.Process, how, file string) error {
	ended := func() (int64, error) {
		if _, err := os.Stat(file); err != nil {
			return 0, nil
		}
		return 1, nil
	}
	for {
		end, err := intra.Once(p, ended)
		if err != nil {
			return err
		}
		if end, err = comm.AllreduceValue(p.World(), end, comm.Min); end == 1 || err != nil {
			return err
		}
		if how == "passing" {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		for end == 0 { // without a call, and without a pause
			for began := time.Now(); time.Since(began) < 10*time.Millisecond; {
			}
			end, _ = ended()
		}
		return nil
	}
}

// losses is a job of workers, of which some are lost while the test looks on.
type losses struct {
	t    *testing.T
	dir  string // where it runs
	cmd  *exec.Cmd
	said []string // names of the files with what the heads say
	pids map[string]int
}

// startLosses begins the job on this host, or on those of c.
func startLosses(t *testing.T, c *cluster, flags, how string) *losses {
	l := &losses{t: t, dir: t.TempDir(), pids: make(map[string]int)}
	args := append([]string{"-v", "-report", "report.json"}, strings.Fields(flags)...)
	if c != nil {
		args = append(args, "-rsh", "ip netns exec {host}", "-hosts", c.list(1, 0, 1, 2, 3))
	}
	l.cmd = command(append(args, os.Args[0], asWorker, how, filepath.Join(l.dir, "end"))...)
	if c != nil {
		on := c.Hosts[0].Command(l.cmd.Path, l.cmd.Args[1:]...)
		on.Env, l.cmd = l.cmd.Env, on
	}
	errs, err := os.Create(filepath.Join(l.dir, "said"))
	require.NoError(t, err)
	defer errs.Close()
	l.cmd.Dir, l.cmd.Stderr, l.cmd.WaitDelay = l.dir, errs, time.Second
	require.NoError(t, l.cmd.Start())
	l.said = []string{errs.Name(), filepath.Join(l.dir, fmt.Sprintf("intrarun-%d.err", l.cmd.Process.Pid))}
	ended := make(chan struct{})
	go func() {
		_ = l.cmd.Wait() // the exit code tells
		close(ended)
	}()
	t.Cleanup(func() {
		_ = os.WriteFile(filepath.Join(l.dir, "end"), nil, 0o644)
		select {
		case <-ended:
		case <-time.After(time.Minute):
			_ = l.cmd.Process.Kill()
			<-ended
		}
		if t.Failed() {
			t.Log(l.text())
		}
	})
	l.await("all have joined")
	for line := range strings.Lines(l.text()) {
		var at float64
		var p string
		var pid int
		if n, _ := fmt.Sscanf(line, "intrarun: %f %s has joined: process %d on", &at, &p, &pid); n == 3 {
			l.pids[p] = pid
		}
	}
	return l
}

// text is what the heads have said so far.
func (l *losses) text() string {
	var all strings.Builder
	for _, name := range l.said {
		b, _ := os.ReadFile(name)
		all.Write(b)
	}
	return all.String()
}

// await waits until the heads have said all that.
func (l *losses) await(parts ...string) {
	l.t.Helper()
	require.Eventually(l.t, func() bool {
		text := l.text()
		return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(text, p) })
	}, 2*time.Minute, 10*time.Millisecond, "want %q", parts)
}

func (l *losses) kill(processes ...string) {
	l.t.Helper()
	for _, p := range processes {
		require.NoError(l.t, syscall.Kill(l.pids[p], syscall.SIGKILL))
	}
}

// awaitHandled waits until every survivor has handled the deaths.
func (l *losses) awaitHandled(survivors []string, dead ...string) {
	l.t.Helper()
	for _, p := range dead {
		for _, s := range survivors {
			l.await(fmt.Sprintf("%s has handled the death of %s\n", s, p))
		}
	}
}

// end lets the workers end, and returns the report once it is there.
func (l *losses) end() (r struct {
	Joined   time.Time
	Failures []struct {
		Process string
		At      float64            `json:"at_seconds"`
		Handled map[string]float64 `json:"handled_seconds"`
	}
}) {
	l.t.Helper()
	require.NoError(l.t, os.WriteFile(filepath.Join(l.dir, "end"), nil, 0o644))
	require.Eventually(l.t, func() bool {
		b, err := os.ReadFile(filepath.Join(l.dir, "report.json"))
		return err == nil && json.Unmarshal(b, &r) == nil // it is there as a whole or not at all
	}, time.Minute, 10*time.Millisecond, "there is no report")
	return r
}

// requireHandled: the report has every survivor for each of the dead, when it
// can have been.
func (l *losses) requireHandled(survivors []string, dead ...string) {
	l.t.Helper()
	r := l.end()
	require.NotZero(l.t, r.Joined)
	var seen []string
	for _, f := range r.Failures {
		seen = append(seen, f.Process)
		for _, s := range survivors {
			require.Contains(l.t, f.Handled, s, f.Process)
		}
		for p, at := range f.Handled { // those that died soon after may be there
			require.GreaterOrEqual(l.t, at, f.At, "%s of %s", p, f.Process)
			require.NotEqual(l.t, f.Process, p)
			require.Contains(l.t, append(slices.Clone(dead), survivors...), p)
		}
	}
	require.ElementsMatch(l.t, dead, seen)
}

func TestSurvivorsHandleDeaths(t *testing.T) {
	for _, s := range []struct {
		name, flags, how string
		survivors, dead  []string
	}{
		{"one", "-n 2 -r 2", "passing", []string{"0.0", "1.0", "1.1"}, []string{"0.1"}},
		{"several at once", "-n 2 -r 3", "passing", []string{"0.0", "0.1", "1.0"}, []string{"0.2", "1.1", "1.2"}},
		{"links over TCP", "-n 2 -r 2 -link tcp", "passing", []string{"0.1", "1.0"}, []string{"0.0", "1.1"}},
		{"the program makes no call", "-n 2 -r 2", "computing", []string{"0.0", "1.0", "1.1"}, []string{"0.1"}},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			l := startLosses(t, nil, s.flags, s.how)
			l.kill(s.dead...)
			l.awaitHandled(s.survivors, s.dead...)
			l.requireHandled(s.survivors, s.dead...)
		})
	}
}

func TestSurvivorsOnOtherHosts(t *testing.T) {
	c := newCluster(t, 4)
	for _, s := range []struct {
		name            string
		lose            func(c *cluster, l *losses)
		survivors, dead []string // 0.0 is on host 0, 1.1 on host 3
	}{
		{"a process is killed", func(c *cluster, l *losses) { l.kill("1.1") },
			[]string{"0.0", "0.1", "1.0"}, []string{"1.1"}},
		{"a host is killed", func(c *cluster, l *losses) { require.NoError(l.t, c.Hosts[3].Kill()) },
			[]string{"0.0", "0.1", "1.0"}, []string{"1.1"}},
		{"a host is cut off", func(c *cluster, l *losses) { require.NoError(l.t, c.Hosts[3].Down()) },
			[]string{"0.0", "0.1", "1.0"}, []string{"1.1"}},
		{"and then the head", func(c *cluster, l *losses) {
			l.kill("1.1")
			l.awaitHandled([]string{"0.0", "0.1", "1.0"}, "1.1")
			require.NoError(l.t, c.Hosts[0].Kill())
		}, []string{"0.1", "1.0"}, []string{"0.0", "1.1"}},
	} {
		t.Run(s.name, func(t *testing.T) {
			c.t = t
			l := startLosses(t, c, "-n 2 -r 2", "passing")
			s.lose(c, l)
			l.awaitHandled(s.survivors, s.dead...)
			l.requireHandled(s.survivors, s.dead...)
			for _, h := range c.Hosts {
				require.NoError(t, h.Kill()) // one that is cut off lives on for a while
				require.NoError(t, h.Up())
			}
		})
	}
}
