//go:build system

package hosts

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

// workUntil is a program that runs until a file of that name exists. It passes messages
// all the time; or it computes, and passes messages once.
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
		for end == 0 { // computes without calls and without pauses
			for began := time.Now(); time.Since(began) < 10*time.Millisecond; {
			}
			end, _ = ended()
		}
		return nil
	}
}

// asWorker is the first argument of the program.
const asWorker = "worker:"

func workerMain() {
	if len(os.Args) > 3 && os.Args[1] == asWorker {
		intra.Main(func(p *intra.Process) error { return workUntil(p, os.Args[2], os.Args[3]) })
	}
}

// losses is a job of workers, some of which will be lost.
type losses struct {
	headless
	pids map[string]int
}

// startLosses starts the job on this host, or on those of c.
func startLosses(t *testing.T, c *cluster, flags, how string) *losses {
	dir := t.TempDir()
	spec := jobtest.Spec{
		Intrarun: binaries.Intrarun(t),
		Flags:    append(strings.Fields(flags), "-v"),
		Program:  []string{os.Args[0], asWorker, how, filepath.Join(dir, "end")},
	}
	if c != nil {
		spec = c.spec(c.list(1, 0, 1, 2, 3), flags+" -v", spec.Program...)
	}
	spec.Dir = dir
	l := &losses{headless{run{jobtest.Start(t, spec), t}, dir}, make(map[string]int)}
	t.Cleanup(func() {
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

// text returns the messages of the heads so far.
func (l *losses) text() string { return l.Stderr() + l.left(".err") }

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

// requireHandled lets the workers end. The report must list every survivor for each death,
// with a possible time.
func (l *losses) requireHandled(survivors []string, dead ...string) {
	l.t.Helper()
	require.NoError(l.t, os.WriteFile(filepath.Join(l.dir, "end"), nil, 0o644))
	end, _, _ := l.wait()
	var r struct {
		Joined   time.Time
		Failures []struct {
			Process string
			At      float64            `json:"at_seconds"`
			Handled map[string]float64 `json:"handled_seconds"`
		}
	}
	end.Decode(l.t, &r)
	require.NotZero(l.t, r.Joined)
	var seen []string
	for _, f := range r.Failures {
		seen = append(seen, f.Process)
		for _, s := range survivors {
			require.Contains(l.t, f.Handled, s, f.Process)
		}
		for p, at := range f.Handled { // processes that died soon afterwards may also be listed
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
		lost            int      // index of a host to be lost; -1: none
	}{
		{"a process is killed", func(c *cluster, l *losses) { l.kill("1.1") },
			[]string{"0.0", "0.1", "1.0"}, []string{"1.1"}, -1},
		{"a host is killed", func(c *cluster, l *losses) { require.NoError(l.t, c.Hosts[3].Kill()) },
			[]string{"0.0", "0.1", "1.0"}, []string{"1.1"}, 3},
		{"a host is cut off", func(c *cluster, l *losses) { require.NoError(l.t, c.Hosts[3].Down()) },
			[]string{"0.0", "0.1", "1.0"}, []string{"1.1"}, 3},
		{"and then the head", func(c *cluster, l *losses) {
			l.kill("1.1")
			l.awaitHandled([]string{"0.0", "0.1", "1.0"}, "1.1")
			require.NoError(l.t, c.Hosts[0].Kill())
		}, []string{"0.1", "1.0"}, []string{"0.0", "1.1"}, 0},
	} {
		t.Run(s.name, func(t *testing.T) {
			c.t = t
			l := startLosses(t, c, "-n 2 -r 2", "passing")
			s.lose(c, l)
			l.awaitHandled(s.survivors, s.dead...)
			if s.lost >= 0 {
				require.NoError(t, c.Hosts[s.lost].Kill()) // a disconnected host continues for a while
			}
			l.requireHandled(s.survivors, s.dead...)
			for _, h := range c.Hosts {
				require.NoError(t, h.Up())
			}
		})
	}
}
