//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
)

// The test binary is also intrarun, and the programs that intrarun runs: one made of steps,
// one that passes messages, one that shares work, and one of safe points.
const (
	asIntrarun = "INTRARUN_TEST_COMMAND"
	asSender   = "sender:" // its first argument follows
	asStorer   = "storer:"
	asStepper  = "stepper:"
	asHeavy    = "heavy:"
	asWalker   = "walker:"
	asAhead    = "ahead:"
	asPatient  = "patient:"
	asEnder    = "ender:"
)

func TestMain(m *testing.M) {
	steps.Main()
	if len(os.Args) > 1 && os.Args[1] == asSender {
		intra.Main(sendAndReturn)
	}
	if len(os.Args) > 2 && os.Args[1] == asStorer {
		intra.Main(func(p *intra.Process) error { return drift(p, os.Args[2]) })
	}
	if len(os.Args) > 1 && os.Args[1] == asStepper {
		intra.Main(stepThrough)
	}
	if len(os.Args) > 1 && os.Args[1] == asHeavy {
		intra.Main(heavy)
	}
	if len(os.Args) > 1 && os.Args[1] == asWalker {
		intra.Main(walk)
	}
	if len(os.Args) > 2 && os.Args[1] == asAhead {
		intra.Main(func(p *intra.Process) error { return goAhead(p, os.Args[2]) })
	}
	if len(os.Args) > 2 && os.Args[1] == asEnder {
		intra.Main(func(p *intra.Process) error { return endHere(p, os.Args[2]) })
	}
	if len(os.Args) > 2 && os.Args[1] == asPatient {
		intra.Main(func(p *intra.Process) error { return patient(p, os.Args[2]) })
	}
	if what := os.Getenv(asHostile); what != "" {
		openMany(what)
		return
	}
	if os.Getenv(asIntrarun) != "" {
		main()
	}
	os.Exit(m.Run())
}

// program returns the command line that runs the test binary as that program.
func program(name string) []string { return []string{os.Args[0], name} }

// environ makes the test binary act as intrarun. The race detector would make each process
// sleep for a second at its exit, which GORACE prevents.
var environ = []string{asIntrarun + "=1", "GORACE=atexit_sleep_ms=0"}

// command returns a command line of intrarun for a run that starts no job, or a job that
// cannot hang.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), environ...)
	return cmd
}

// result is the outcome of a run.
type result struct {
	code           int
	stdout, stderr string
	report         map[string]any // nil if there is no report
	*jobtest.Report
}

// start begins a run whose flags are separated by spaces.
func start(t *testing.T, flags string, program ...string) (*jobtest.Job, func() result) {
	t.Helper()
	return startWith(t, nil, flags, program...)
}

func startWith(t *testing.T, stdin io.Reader, flags string, program ...string) (*jobtest.Job, func() result) {
	t.Helper()
	return startFlags(t, stdin, strings.Fields(flags), program...)
}

func startFlags(t *testing.T, stdin io.Reader, flags []string, program ...string) (*jobtest.Job, func() result) {
	t.Helper()
	j := jobtest.Start(t, jobtest.Spec{Intrarun: os.Args[0], Flags: flags, Program: program, Env: environ, Stdin: stdin})
	return j, func() result {
		r := j.Wait(t)
		end := result{code: r.Code, stdout: r.Stdout, stderr: r.Stderr, Report: r.Summary(t)}
		if len(r.Report) > 0 {
			r.Decode(t, &end.report)
			require.Equal(t, r.Code, end.ExitCode, "%s", r.Stderr)
		}
		return end
	}
}

func runJob(t *testing.T, flags string, program ...string) result {
	t.Helper()
	_, wait := start(t, flags, program...)
	return wait()
}

func TestEndsOfAJob(t *testing.T) {
	for _, c := range []struct {
		name     string
		flags    string
		steps    []string
		code     int
		stdout   string
		stderr   string // a part of the standard error
		failures []string
		ends     []string
	}{
		{"all finish", "-n 2 -r 2", []string{"join", "out:x", "finish"}, 0, "x\nx\n", "", nil, []string{"finished", "finished", "finished", "finished"}},
		{"every link", "-n 2 -r 2 -link tcp", []string{"join", "finish"}, 0, "", "", nil, nil},
		{"unix", "-n 2 -r 2 -link unix", []string{"join", "finish"}, 0, "", "", nil, nil},
		{"shm", "-n 2 -r 2 -link shm -ring 4K", []string{"join", "finish"}, 0, "", "", nil, nil},
		{"degrees", "-degrees 1,3", []string{"join", "0@out:a", "1@sleep:100ms", "1@out:b", "finish"}, 0, "a\nb\n", "", nil, nil},
		{"one replica is killed", "-r 2", []string{"join", "0.0@kill:9", "out:x", "finish"}, 0, "x\n", "0.0 is dead (signal: killed by SIGKILL)", []string{"0.0 signal"}, []string{"killed", "finished"}},
		{"the last replica is killed", "-r 2", []string{"join", "0.0@sleep:300ms", "kill:9"}, 3, "", "3 replicas of rank 0 would have saved it", []string{"0.1 signal", "0.0 signal"}, nil},
		{"a rank alone is killed", "-n 2 -r 1", []string{"join", "1@kill:9", "forever"}, 3, "", "rank 1 has lost its last replica 1.0", []string{"1.0 signal"}, []string{"ended", "killed"}},
		{"one returns an error", "-r 2", []string{"join", "0.1@fail:error:bad luck", "out:x", "finish"}, 0, "x\n", "0.1: error: bad luck", []string{"0.1 exit"}, []string{"finished", "failed"}},
		{"all return an error", "-r 2", []string{"join", "fail:error:bad luck"}, 1, "", ": error: bad luck", nil, []string{"failed", "failed"}},
		{"own exit", "-r 1", []string{"join", "exit:7"}, 1, "", "exit status 7", []string{"0.0 exit"}, []string{"exited"}},
		{"exit 0 without finishing", "-r 1", []string{"join", "exit:0"}, 1, "", "exit status 0 before run had returned: the program, or a library that it uses, calls os.Exit(0)", []string{"0.0 exit"}, []string{"exited"}},
		{"panic of run", "-r 2", []string{"join", "0.0@fail:panic:in task f", "finish"}, 0, "", "0.0: panic: in task f", []string{"0.0 panic"}, []string{"failed", "finished"}},
		{"crash elsewhere", "-r 2", []string{"join", "err:before", "0.1@sleep:100ms", "0.0@crash", "err:after", "finish"}, 0, "", "0.0: panic: boom", []string{"0.0 panic"}, []string{"exited", "finished"}},
		{"crash of the last", "-r 1", []string{"join", "crash"}, 1, "", "0.0: panic: boom", []string{"0.0 panic"}, nil},
		{"long words of run", "-degrees 1,2", []string{"join", "1.0@fail-at-length:20000000", "finish"}, 0, "", "1.0 is dead (panic", []string{"1.0 panic"}, []string{"finished", "failed", "finished"}},
		{"long words of a crash", "-degrees 1,2", []string{"join", "0@sleep:100ms", "1.1@sleep:100ms", "1.0@crash-at-length:20000000", "finish"}, 0, "", "1.0 is dead (panic", []string{"1.0 panic"}, []string{"finished", "exited", "finished"}},
		{"the runtime gives up", "-r 1", []string{"join", "fatal"}, 1, "", "0.0: fatal error: concurrent map", []string{"0.0 panic"}, nil},
		{"divergence", "-r 2", []string{"join", "0.1@fail:divergence:section 3 differs", "forever"}, 4, "", "section 3 differs", nil, nil},
		{"other sections", "-r 2", []string{"join", "stats:3", "0.1@stats:4", "finish"}, 4, "", "one left", nil, nil},
		{"finding", "-r 2 -check", []string{"join", "0.1@fail:finding:x is written", "forever"}, 1, "", "x is written", nil, nil},
		{"never joined", "-r 2", []string{"out:hello"}, 1, "hello\n", "is it a program that calls intra.Main?", []string{"0.0 exit", "0.1 exit"}, nil},
		{"untagged", "-r 2", []string{"join-untagged", "finish"}, 0, "", "without the intra tag", nil, nil},
		{"control connection closed", "-r 2", []string{"join", "0.1@close", "0.1@forever", "sleep:2500ms", "finish"}, 0, "", "closed its control connection", []string{"0.1 exit"}, nil},
		{"suspicion", "-degrees 1,2", []string{"join", "0@suspect:1.0", "sleep:1s", "finish"}, 0, "", "1.0 is dead (link", []string{"1.0 link"}, []string{"finished", "fenced", "finished"}},
		{"suspicion of the last replicas", "-n 2 -r 1", []string{"join", "0@suspect:1.0", "forever"}, 3, "", "neither has another replica", nil, []string{"ended", "ended"}},
		{"killed at a time", "-r 2 -kill 0.1@50ms", []string{"join", "0.1@forever", "sleep:500ms", "finish"}, 0, "", "killed on request at 50ms", []string{"0.1 injected"}, nil},
		{"killed at a point", "-r 2 -kill 0.1@task:3", []string{"join", "0.1@fired:task:3", "finish"}, 0, "", "killed on request at task:3", []string{"0.1 injected"}, nil},
		{"all killed at a point", "-r 2 -kill 0.1@task:3 -kill 0.0@section:0", []string{"join", "0.0@fired:section:0", "0.1@fired:task:3"}, 3, "", "", nil, nil},
		{"kill not reached", "-r 2 -kill 0.1@update:9", []string{"join", "finish"}, 0, "", "warning: -kill 0.1@update:9 was never reached", nil, nil},
		{"environment", "-r 1", []string{"join", "environ", "finish"}, 0, "", "", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := runJob(t, c.flags, steps.Program(c.steps...)...)
			require.Equal(t, c.code, r.code, "%s", r.stderr)
			require.Equal(t, c.stdout, r.stdout)
			require.Contains(t, r.stderr, c.stderr)
			if c.failures != nil {
				require.ElementsMatch(t, c.failures, r.Deaths())
			} else if c.code == 0 {
				require.Empty(t, r.Deaths())
			}
			if c.ends != nil {
				require.Equal(t, c.ends, r.Ends())
			}
		})
	}
}

func TestWrappers(t *testing.T) {
	program := strings.Join(steps.Program("join", "out:x", "finish"), " ")
	for name, script := range map[string]string{
		"exec":      "exec " + program,
		"child":     program + "; true",
		"more work": program + "; sleep 0.1; echo done >&2",
	} {
		t.Run(name, func(t *testing.T) {
			r := runJob(t, "-n 2 -r 2", "sh", "-c", script)
			require.Equal(t, 0, r.code, r.stderr)
			require.Equal(t, "x\nx\n", r.stdout)
			require.Empty(t, r.Deaths())
		})
	}
	t.Run("killed under a wrapper that keeps running", func(t *testing.T) {
		p := strings.Join(steps.Program("join", "0.1@kill:9", "finish"), " ")
		r := runJob(t, "-r 2", "sh", "-c", p+" || sleep 1000")
		require.Equal(t, []string{"0.1 exit"}, r.Deaths())
	})
	t.Run("killed under a wrapper that reports it", func(t *testing.T) {
		p := strings.Join(steps.Program("join", "0.1@kill:9", "finish"), " ")
		r := runJob(t, "-r 2", "sh", "-c", p+"; exit $?")
		require.Equal(t, 0, r.code, r.stderr)
		require.Equal(t, []string{"0.1 signal"}, r.Deaths())
	})
}

func TestRefusedHandshakes(t *testing.T) {
	t.Run("wrong secret", func(t *testing.T) {
		other := filepath.Join(t.TempDir(), "secret")
		require.NoError(t, os.WriteFile(other, bytes.Repeat([]byte{7}, 32), 0o600))
		p := strings.Join(steps.Program("join", "finish"), " ")
		r := runJob(t, "-r 2", "sh", "-c", fmt.Sprintf("if [ $INTRA_PROCESS = 0.1 ]; then exec 4<%s; fi; exec %s", other, p))
		require.Equal(t, 2, r.code)
		require.Contains(t, r.stderr, "0.1 cannot join")
		// The process may be killed before it has reported the reason itself.
		require.Contains(t, r.stderr, "does not know the secret")
	})
	t.Run("other build", func(t *testing.T) {
		other := filepath.Join(t.TempDir(), "other")
		b, err := os.ReadFile(os.Args[0])
		require.NoError(t, err)
		id := bytes.Index(b, []byte("Go\x00\x00")) + 4 // the build ID is in the first note of that name
		require.Greater(t, id, 3)
		b[id+1]++
		require.NoError(t, os.WriteFile(other, b, 0o700))
		r := runJob(t, "-r 2", "sh", "-c", fmt.Sprintf("if [ $INTRA_PROCESS = 0.1 ]; then exec %s %s join finish; fi; exec %s %s join finish", other, steps.Argument, os.Args[0], steps.Argument))
		require.Equal(t, 2, r.code, r.stderr)
		require.Contains(t, r.stderr, "0.0 and 0.1 are incompatible: different builds of the program")
		require.Contains(t, r.Ends(), "ended")
	})
	t.Run("descriptors closed by a wrapper", func(t *testing.T) {
		r := runJob(t, "-r 1", "sh", "-c", "exec "+strings.Join(steps.Program("join"), " ")+" 3>&-")
		require.Equal(t, 1, r.code)
		require.Contains(t, r.stderr, "a wrapper must leave the descriptors")
	})
}

func TestStoppedProcess(t *testing.T) {
	t.Run("a replica is fenced while a peer lives", func(t *testing.T) {
		r := runJob(t, "-r 2", steps.Program("join", "out:a", fmt.Sprintf("0.0@kill:%d", syscall.SIGSTOP), "out:b", "finish")...)
		require.Equal(t, 0, r.code, r.stderr)
		require.Equal(t, "a\nb\n", r.stdout)
		require.Equal(t, []string{"0.0 fenced"}, r.Deaths())
		require.Equal(t, []string{"fenced", "finished"}, r.Ends())
	})
	t.Run("the last replica is never fenced", func(t *testing.T) {
		marks := filepath.Join(t.TempDir(), "pids")
		_, wait := start(t, "-r 1", steps.Program("join", "mark:"+marks, "sleep:200ms", "out:done", "finish")...)
		pid := steps.PIDs(t, marks, 1)[0]
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
		time.Sleep(2500 * time.Millisecond)
		require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
		r := wait()
		require.Equal(t, 0, r.code, r.stderr)
		require.Equal(t, "done\n", r.stdout)
	})
}

func TestNoProcessSurvivesIntrarun(t *testing.T) {
	for _, c := range []struct {
		name    string
		wrap    string
		signal  syscall.Signal
		code    int
		stopped bool
	}{
		{"SIGKILL", "exec %s", syscall.SIGKILL, -1, false},
		{"SIGKILL, under a wrapper", "%s; true", syscall.SIGKILL, -1, false},
		{"SIGKILL, stopped under a wrapper", "%s; true", syscall.SIGKILL, -1, true},
		{"SIGKILL, stopped", "exec %s", syscall.SIGKILL, -1, true},
		{"SIGINT", "%s; true", syscall.SIGINT, 130, false},
		{"SIGHUP", "exec %s", syscall.SIGHUP, 129, false},
		{"SIGTERM", "exec %s", syscall.SIGTERM, 143, false},
		{"SIGTERM, stopped", "exec %s", syscall.SIGTERM, 143, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			marks := filepath.Join(t.TempDir(), "pids")
			p := strings.Join(steps.Program("join", "mark:"+marks, "forever"), " ")
			job, wait := start(t, "-n 1 -r 2", "sh", "-c", fmt.Sprintf(c.wrap, p))
			all := steps.PIDs(t, marks, 2)
			if c.stopped {
				for _, pid := range all {
					require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
				}
			}
			require.NoError(t, syscall.Kill(job.PID(), c.signal))
			r := wait()
			require.Equal(t, c.code, r.code, r.stderr)
			if c.signal != syscall.SIGKILL {
				require.Equal(t, []string{"ended", "ended"}, r.Ends())
				require.Empty(t, r.Deaths())
			}
		})
	}
}

func TestNoUnjoinedProcessSurvives(t *testing.T) {
	marks := filepath.Join(t.TempDir(), "pids")
	job, wait := start(t, "-r 2", "sh", "-c", "sh -c 'echo $$ >>"+marks+"; sleep 1000; true'; true")
	steps.PIDs(t, marks, 2)
	require.NoError(t, syscall.Kill(job.PID(), syscall.SIGKILL))
	wait()
}

func TestSecondSignalDoesNotWait(t *testing.T) {
	marks := filepath.Join(t.TempDir(), "pids")
	stubborn := "trap '' TERM; echo $$ >>" + marks + "; while :; do sleep 0.1; done"
	t.Run("one", func(t *testing.T) {
		job, wait := start(t, "-r 1", "sh", "-c", stubborn)
		steps.PIDs(t, marks, 1)
		require.NoError(t, syscall.Kill(job.PID(), syscall.SIGTERM))
		require.Equal(t, 143, wait().code)
	})
	t.Run("two", func(t *testing.T) {
		require.NoError(t, os.Remove(marks))
		job, wait := start(t, "-r 1 -v", "sh", "-c", stubborn)
		steps.PIDs(t, marks, 1)
		require.NoError(t, syscall.Kill(job.PID(), syscall.SIGINT))
		time.Sleep(300 * time.Millisecond) // two signals at the same time have no order
		require.NoError(t, syscall.Kill(job.PID(), syscall.SIGTERM))
		require.Equal(t, 130, wait().code)
	})
}

func TestReport(t *testing.T) {
	r := runJob(t, "-n 2 -r 2 -kill 1.1@section:5 -kill 0.0@1h", steps.Program("join", "stats:21", "1.1@sleep:50ms", "1.1@fired:section:5", "finish")...)
	require.Equal(t, 0, r.code, r.stderr)
	host, err := os.Hostname()
	require.NoError(t, err)
	b, err := json.Marshal(r.report["kills"])
	require.NoError(t, err)
	require.JSONEq(t, `[{"process":"1.1","when":"section:5","fired":true},{"process":"0.0","when":"1h0m0s","fired":false}]`, string(b))
	require.EqualValues(t, 84, r.report["sections"])
	require.EqualValues(t, 168, r.report["tasks_run"])
	require.Equal(t, []any{2., 2.}, r.report["degrees"])
	require.Equal(t, true, r.report["intra_tag"])
	require.Equal(t, "", r.report["error"])
	for _, p := range r.report["processes"].([]any) {
		m := p.(map[string]any)
		require.Equal(t, host, m["host"])
		require.EqualValues(t, 21, m["sections"])
		require.Positive(t, m["pid"])
	}
	types := r.report["task_types"].(map[string]any)["pkg.f"].(map[string]any)
	require.EqualValues(t, 168, types["run"])
	require.Equal(t, "share", types["decision"])
	for _, field := range []string{"wall_seconds", "tasks_received", "tasks_rerun", "update_bytes"} {
		require.Contains(t, r.report, field)
	}

	t.Run("on standard error, arrays never null", func(t *testing.T) {
		cmd := command(append([]string{"-report", "-", "-quiet"}, steps.Program("join", "finish")...)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		require.NoError(t, cmd.Run())
		require.Equal(t, 1, strings.Count(stderr.String(), "\n"))
		require.Contains(t, stderr.String(), `"failures":[],"kills":[],`)
	})
	t.Run("not without a process", func(t *testing.T) {
		r := runJob(t, "", "no-such-program")
		require.Equal(t, 2, r.code)
		require.Nil(t, r.report)
	})
}

func TestProgramThatCannotBeStarted(t *testing.T) {
	name := filepath.Join(t.TempDir(), "garbage")
	require.NoError(t, os.WriteFile(name, []byte("garbage"), 0o755))
	r := runJob(t, "-n 2", name)
	require.Equal(t, 2, r.code)
	require.Regexp(t, `start [01]\.[01]: .*garbage`, r.stderr, "processes are started concurrently")
	require.Nil(t, r.report, "no process was started")
}

func TestUsageErrors(t *testing.T) {
	for args, want := range map[string]string{
		"":                                          "no program given",
		"-r 0 true":                                 "-r 0",
		"-n 0 true":                                 "-n 0",
		"-degrees 0 true":                           "want numbers from 1",
		"-degrees 2,x true":                         "want numbers from 1",
		"-degrees 2,2 -r 2 true":                    "-degrees and -r exclude each other",
		"-degrees 2,2 -n 3 true":                    "leave -n out",
		"-link ib true":                             "want auto, shm, unix, tcp or mpi",
		"-threads 0 true":                           "-threads 0: want 1 to 512",
		"-stdin all true":                           "want 0 or none",
		"-endless 1s true":                          "want a duration of at least 2s like 60s, or off",
		"-threads 1000 true":                        "-threads 1000: want 1 to 512",
		"-ring 10 true":                             "-ring 10: want 4K to 1G",
		"-trace-limit 9M true":                      "-trace-limit needs -trace, because it bounds the size of that file: add -trace, or leave out -trace-limit",
		"-trace t -trace-limit 9K true":             "-trace-limit 9K: want at least 1M",
		"-ring 2G true":                             "-ring 2G: want 4K to 1G",
		"-sched random true":                        "want static, adaptive or replicate",
		"-kill 0.0 true":                            "RANK.REPLICA@WHEN",
		"-kill 0.2@1s true":                         "no process 0.2",
		"-kill 0.1@job:3 true":                      "unknown kill point",
		"-weibull 20s true":                         "-weibull 20s: \"20s\" has neither a shape nor an mtbf",
		"-fault weibull:shape=0,mtbf=1s true":       "want a number from 0.1 to 100",
		"-fault kill:0.1@1s true":                   "want -kill 0.1@1s",
		"-seed 3 true":                              "-seed needs -sdc or -fault weibull",
		"-sdc dual -r 1 true":                       "-sdc dual: rank 0 has one replica, and there is no other replica to compare with",
		"-sdc some true":                            "want sample, sample=P or dual, or state",
		"-sdc state -degrees 2,1 true":              "-sdc state: rank 1 has one replica, and there is no other replica to compare with",
		"-sdc state=0 true":                         "is no number of safe points",
		"-sdc dual,sample true":                     "want sample, sample=P or dual, or state",
		"-sdc dual -check true":                     "-sdc and -check exclude each other, because checked mode compares all tasks itself",
		"-fault flip:0.2@task:1 true":               "-fault flip:0.2@task:1: the job has no process 0.2",
		"-fault flip:0.1 true":                      "is not a flip: want RANK.REPLICA@task:N",
		"-defect 1.0,q=0.1 true":                    "-fault defect:1.0,q=0.1: the job has no process 1.0",
		"-fault defect:0.0,q=7 true":                "is not a probability",
		"-seed x -fault weibull:shape=1 true":       "-seed x: want a number from 0",
		"-clone 0.1 true":                           "is not a clone: want RANK.REPLICA=COMMAND",
		"-clone 0.2=nice true":                      "-clone 0.2=nice: the job has no process 0.2",
		"-clone 0.1=nice -clone 0.1=env true":       "-clone 0.1=env: 0.1 has another tool already",
		"-clone 0.1=no-such-tool true":              "-clone 0.1=no-such-tool: exec: \"no-such-tool\": executable file not found",
		"-clone 0.1=nice -sched static true":        "leave out one of them",
		"-clone 0.1=nice -direct on true":           "leave out one of them",
		"-counters cycle true":                      "there is no counter \"cycle\": want some of L1-dcache-load-misses",
		"-checkpoint-every 3 true":                  "-checkpoint-every needs -checkpoint",
		"-checkpoint /tmp -checkpoint-every 0 true": "want a number of safe points from 1",
		"-checkpoint /dev/null true":                "it is not a folder",
		"-checkpoint /dev/null/x true":              "not a directory",
		"-restart /no/such/folder true":             "no such file",
		"-restart /dev/null true":                   "it is not a folder",
		"-ring lots true":                           "number of bytes",
		"-limit 3 true":                             "is not a bandwidth",
		"-trace /no/such/folder/t true":             "no such file",
		"-tls true":                                 "for jobs on several hosts",
		"-hosts a -hostfile b true":                 "-hosts and -hostfile exclude each other",
		"-hosts a:2 -n 2 true":                      "4 processes for 2 slots",
		"-hosts a:0 true":                           "number of slots",
		"-hostfile /no/such/file true":              "no such file",
		"-hosts a:2 -rsh ssh true":                  "want a command with {host}",
		"-strict-placement -hosts a:2 true":         "share a host",
		"-v -quiet true":                            "-quiet and -v exclude each other",
		"-direct -check true":                       "-direct and -check exclude each other",
		"-direct=sometimes true":                    "want auto, on or off",
		"-direct on -check true":                    "-direct on and -check exclude each other",
		"-direct -limit 1GB/s true":                 "leave out one of them",
		"-direct -sched static true":                "-direct and -sched static exclude each other, because stores need the adaptive schedule",
		"-direct -link tcp true":                    "-direct and -link tcp exclude each other",
		"-link mpi true":                            "-link mpi needs -mpi",
		"-mpi true":                                 "no launcher has started intrarun several times (looked for OMPI_COMM_WORLD_SIZE, PMI_FD and SLURM_STEP_ID",
		"-report /no/such/folder/r true":            "no such file",
		"-bogus true":                               "-bogus",
		"-vary sets=2,bits=1 true":                  "-vary is a command of its own: write intravary -sets 4",
		"-n 2000000000 true":                        "want 1 to 65536 ranks",
		"-n 60000 true":                             "more than 65536 processes",
		"-degrees 2000000000 true":                  "more than 65536 processes",
		"-n 30000 true":                             "open files",
		"./no/such/program":                         "neither",
		"-- ./no/such/program -r 0":                 "neither",
		"github.com/intrahpc/nosuch/pkg":            "neither",
	} {
		t.Run(args, func(t *testing.T) {
			cmd := command(strings.Fields(args)...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			cmd.Run()
			require.Equal(t, 2, cmd.ProcessState.ExitCode(), stderr.String())
			require.Contains(t, stderr.String(), want)
		})
	}
}
