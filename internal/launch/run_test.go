package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agent/agentd"
	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/agent/watchdog"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
)

// The test binary is also the program of its jobs (made of steps), the agent of a host, and
// the watchdog that cleans up.
const asAgent = "agent:"

func TestMain(m *testing.M) {
	steps.Main()
	if os.Getenv(watchdog.Variable) != "" {
		watchdog.Run(os.Stdin, os.Stderr)
		os.Exit(0)
	}
	if len(os.Args) > 1 && os.Args[1] == asAgent {
		os.Exit(beAgent(os.Getenv("LAUNCH_TEST_HOST")))
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // for the processes of a job
	os.Exit(m.Run())
}

// beAgent runs the agent of a host. If the host has the name of a fault, the agent has that
// fault.
func beAgent(host string) int {
	switch host {
	case "mute":
		fmt.Println("no route to host")
		return 255
	case "old":
		fmt.Println("agent:", Serve(context.Background(), strings.NewReader(`{"version":-1}`), nil, nil))
		return 1
	}
	if err := Serve(context.Background(), os.Stdin, []string{"/proc/self/exe"}, nil); err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		return 1
	}
	return 0
}

// run is a job, and its effects that the user can observe.
type run struct {
	Config
	out, err bytes.Buffer
	signals  chan os.Signal
}

// newRun describes a job with these degrees whose program executes the steps.
func newRun(degrees []int, program ...string) *run {
	r := &run{signals: make(chan os.Signal, 4)}
	r.Config = Config{Job: Job{Degrees: degrees, Links: Links{Kind: job.LinkSHM, Ring: job.DefaultRing}}, Program: steps.Program(program...),
		Stdout: &r.out, Stderr: &r.err, Signals: r.signals}
	return r
}

// on makes the job run on these hosts, which are all this machine. Each replica of a rank is
// on the next host.
func (r *run) on(t *testing.T, hosts ...string) *run {
	var all []job.Host
	for _, name := range hosts {
		all = append(all, job.Host{Name: name, Slots: 4})
	}
	var err error
	r.Placement, err = job.Place(r.Degrees, all, false)
	require.NoError(t, err)
	r.Placement.Keep(all)
	r.RemoteShell, r.Agent = "env LAUNCH_TEST_HOST={host}", []string{os.Args[0], asAgent}
	r.HeadAddress = "127.0.0.1"
	return r
}

// do runs the job, and requires its exit code.
func (r *run) do(t *testing.T, code int) *run {
	t.Helper()
	require.Equal(t, code, Run(context.Background(), r.Config), "%s", &r.err)
	return r
}

// report requests a report, and returns a function that reads it.
func (r *run) report(t *testing.T) func() runreport.Report {
	r.Report = filepath.Join(t.TempDir(), "report.json")
	return func() (rep runreport.Report) {
		b, err := os.ReadFile(r.Report)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(b, &rep))
		return rep
	}
}

// An error in the description of a job is reported before any part of it runs, and nothing of
// the job is left.
func TestJobsThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	require.NoError(t, os.WriteFile(plain, []byte("no program"), 0o700))
	for _, c := range []struct {
		name   string
		change func(*run)
		want   string // text contained in the output
	}{
		{"there is no such program", func(r *run) { r.Program = []string{"./nowhere"} }, "./nowhere is neither an executable file nor a Go package"},
		{"a file that cannot be run", func(r *run) { r.Program = []string{plain} }, "exec format error"},
		{"a kill of a process that does not exist", func(r *run) {
			r.Faults.Kills = []job.Kill{{Process: job.Process{Rank: 7}, Point: job.KillTask, Count: 1}}
		}, "the job has no process 7.0"},
		{"no folder for the report", func(r *run) { r.Report = filepath.Join(dir, "no", "report") }, "-report " + filepath.Join(dir, "no", "report")},
		{"a report that is a folder", func(r *run) { r.Report = dir }, "-report " + dir + ": it is a folder"},
		{"no folder for the timeline", func(r *run) { r.Trace = filepath.Join(dir, "no", "trace") }, "-trace"},
		{"a timeline that is a folder", func(r *run) { r.Trace = dir }, "-trace " + dir + ": it is a folder"},
		{"no files to begin with", func(r *run) { r.Folders.Restart = filepath.Join(dir, "no") }, "-restart " + filepath.Join(dir, "no")},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRun([]int{2}, "join", "out:it runs", "finish")
			c.change(r)
			r.do(t, ExitRefused)
			require.Contains(t, r.err.String(), "intrarun: ")
			require.Contains(t, r.err.String(), c.want)
			require.Empty(t, r.out.String())
		})
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "beside %s", plain)
}

// The exit code and the last lines show how a job has ended. The report contains more details.
func TestEndsOfAJob(t *testing.T) {
	for _, c := range []struct {
		name    string
		degrees []int
		steps   []string
		code    int
		out     string
		err     string   // a part of the standard error
		ends    []string // ends of the processes, as in the report
	}{
		{"well", []int{2, 1}, []string{"join", "out:x", "finish"}, ExitOK, "x\nx\n", "", []string{"finished", "finished", "finished"}},
		{"one is lost", []int{2}, []string{"join", "0.0@kill:9", "out:x", "finish"}, ExitOK, "x\n", "0.0 is dead (signal: killed by SIGKILL)", []string{"killed", "finished"}},
		{"a rank is lost", []int{1, 1}, []string{"join", "1@kill:9", "forever"}, ExitLost, "", "rank 1 has lost its last replica 1.0", []string{"ended", "killed"}},
		{"by its own error", []int{1}, []string{"join", "fail:error:no luck"}, ExitFailed, "", "0.0: error: no luck", []string{"failed"}},
		{"they differ", []int{2}, []string{"join", "0.1@fail:divergence:section 3", "forever"}, head.ExitDiverged, "", "divergence, found by 0.1: section 3", []string{"ended", "failed"}},
		{"not joined", []int{1}, []string{"out:hello"}, ExitFailed, "hello\n", "is it a program that calls intra.Main?", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRun(c.degrees, c.steps...)
			report := r.report(t)
			r.do(t, c.code)
			require.Equal(t, c.out, r.out.String())
			require.Contains(t, r.err.String(), c.err)
			if c.err == "" {
				require.Empty(t, r.err.String())
			}
			rep := report()
			require.Equal(t, c.code, rep.ExitCode)
			var ends []string
			for _, p := range rep.Processes {
				ends = append(ends, p.End)
			}
			if c.ends != nil {
				require.Equal(t, c.ends, ends)
			}
			require.Equal(t, c.code != ExitOK, rep.Error != "")
		})
	}
}

// Standard input reaches every replica of rank 0, and no other process. The text is printed
// once.
func TestStandardInputOfAJob(t *testing.T) {
	for _, hosts := range [][]string{nil, {"h1", "h2"}} {
		r := newRun([]int{2, 1}, "join", "cat", "finish")
		if hosts != nil {
			r.on(t, hosts...)
		}
		text := strings.Repeat("a line of many\n", 30_000) // more than all buffers hold
		r.Stdin = strings.NewReader(text)
		r.do(t, ExitOK)
		require.Equal(t, text, r.out.String())
	}
}

// A signal ends the job at any time, with the exit code that shells expect.
func TestSignals(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*run, *testing.T)
		signal os.Signal
		code   int
	}{
		{"to a job", func(*run, *testing.T) {}, syscall.SIGINT, 130},
		{"of another kind", func(*run, *testing.T) {}, syscall.SIGTERM, 143},
		{"to a job on hosts", func(r *run, t *testing.T) { r.on(t, "h1", "h2") }, syscall.SIGINT, 130},
	} {
		t.Run(c.name, func(t *testing.T) {
			mark := filepath.Join(t.TempDir(), "mark")
			r := newRun([]int{2}, "join", "mark:"+mark, "forever")
			c.change(r, t)
			report := r.report(t)
			go func() {
				steps.PIDs(t, mark, 2)
				r.signals <- c.signal
			}()
			r.do(t, c.code)
			require.Equal(t, c.code, report().ExitCode)
			require.Contains(t, report().Error, "ended by SIG")
		})
	}
}

// The end of the context ends the job as a signal does. If the context ends before
// anything has started, nothing starts.
func TestEndOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := newRun([]int{1}, "join", "forever").on(t, "h1")
	require.Equal(t, 143, Run(ctx, r.Config))
	require.Contains(t, r.err.String(), "interrupted while waiting for the agents")
	r = newRun([]int{1}, "join", "forever")
	require.Equal(t, 143, Run(ctx, r.Config))
}

// On several hosts a job ends as on one host, and its lines and its report name the
// hosts.
func TestJobOnHosts(t *testing.T) {
	r := newRun([]int{2, 2}, "join:any", "0.1@kill:9", "out:x", "finish").on(t, "h1", "h2")
	r.Verbose = true
	report := r.report(t)
	r.do(t, ExitOK)
	require.Equal(t, "x\nx\n", r.out.String())
	require.Contains(t, r.err.String(), "0.1 is dead (signal: killed by SIGKILL), 1 of 2 replicas of rank 0 left")
	at := make(map[string]string)
	for _, p := range report().Processes {
		at[p.Process.String()] = p.Host + " " + p.End
	}
	require.Equal(t, map[string]string{"0.0": "h1 finished", "0.1": "h2 killed", "1.0": "h1 finished", "1.1": "h2 finished"}, at)
}

// A dry run prints its placement, and starts nothing.
func TestDryRun(t *testing.T) {
	r := newRun([]int{2}, "join", "out:it runs", "finish").on(t, "h1", "h2")
	r.DryRun = true
	r.do(t, ExitOK)
	require.Contains(t, r.out.String(), "h1")
	require.Contains(t, r.out.String(), "0.1")
	require.NotContains(t, r.out.String(), "it runs")
}

// If a program exists on one host only, or cannot run on one, the job ends, and the error
// names the host.
func TestProgramMissingOnOneHost(t *testing.T) {
	r := newRun([]int{2}, "join", "forever").on(t, "h1", "h2")
	r.Program = []string{"/proc/self/cwd/no such program"}
	r.do(t, ExitRefused)
	r = newRun([]int{2}, "join", "forever").on(t, "h1", "h2")
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("text"), 0o700))
	r.Program = []string{text}
	r.do(t, ExitRefused)
	require.Regexp(t, `intrarun: host h[12]: start 0\.[01]: .*exec format error`, r.err.String())
}

// If the agent of a host cannot be started, the job ends before it begins. The error names the
// host, and quotes the command that was to start the agent. Nothing is left behind.
func TestUnreachableHosts(t *testing.T) {
	for _, c := range []struct {
		name  string
		hosts []string
		shell string
		want  string
	}{
		{"its command fails", []string{"h1", "mute"}, "", "host mute: env ended with exit status 255 before its agent had connected: no route to host"},
		{"there is no such command", []string{"h1", "h2"}, "/nowhere/ssh {host}", ": start its agent: fork/exec /nowhere/ssh: no such file"},
		{"a command without a host", []string{"h1"}, "ssh", `-rsh "ssh": want a command with {host} in it`},
		{"it has another version", []string{"h1", "old"}, "", "protocol version"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRun([]int{2}, "join", "forever").on(t, c.hosts...)
			if c.shell != "" {
				r.RemoteShell = c.shell
			}
			dir := t.TempDir()
			r.Trace = filepath.Join(dir, "trace")
			r.do(t, ExitRefused)
			require.Contains(t, r.err.String(), c.want)
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Empty(t, left, "of the timeline")
		})
	}
}

// The agent of an indexed job runs only on hosts that the job needs.
func TestIndexedHostWithoutProcesses(t *testing.T) {
	c := newRun([]int{1}).on(t, "pod-0").Config
	c.Indexed = indexed("pod-0", "pod-1")
	c.Indexed.Index = 1
	err := ServeIndexed(context.Background(), c)
	require.EqualError(t, err, "INTRA_HOSTS names more hosts than the job needs: it runs on 1, without pod-1")
	require.NotErrorAs(t, err, new(*agentd.JobError))
}

// indexed describes the first host of an indexed job on the given hosts.
func indexed(hosts ...string) *spawn.Indexed {
	x := &spawn.Indexed{Secret: job.NewSecret()}
	for _, name := range hosts {
		x.Hosts = append(x.Hosts, job.Host{Name: name, Slots: 4})
	}
	return x
}

// In an indexed job, the cluster manager starts the hosts. Each host learns how the job has
// ended, since it may be the only one left to report it.
func TestIndexedJob(t *testing.T) {
	for _, c := range []struct {
		end  string
		code int
	}{{"finish", ExitOK}, {"exit:3", ExitFailed}} {
		r := newRun([]int{1, 1}, "join", "out:x", c.end).on(t, "pod-0", "pod-1")
		r.Indexed = indexed("pod-0", "pod-1")
		free, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		r.Indexed.Heads = []string{free.Addr().String()}
		free.Close()
		other := r.Config
		of := *r.Indexed
		of.Index = 1
		other.Indexed, other.Watchdog = &of, []string{"/proc/self/exe"}
		ended := make(chan error)
		go func() { ended <- ServeIndexed(context.Background(), other) }()
		r.do(t, c.code)
		if err := <-ended; c.code == ExitOK {
			require.NoError(t, err)
		} else {
			end := new(agentd.JobError)
			require.ErrorAs(t, err, &end)
			require.Equal(t, c.code, end.Code)
		}
		if c.code == ExitOK {
			require.Equal(t, "x\nx\n", r.out.String())
		} else { // the first failure ends the job, perhaps before the other process has written
			require.Contains(t, []string{"x\n", "x\nx\n"}, r.out.String())
		}
	}
}
