//go:build !intra

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/cpuid/v2"
	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// The tests in this file start real processes through intrarun, and kill them
// with real signals. They build the programs both ways themselves, so running
// them without the tag is enough.

// bin holds the programs under test, built once.
var bin struct{ dir, intrarun, hpccg, plain string }

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "hpccg-test")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	bin.dir, bin.intrarun = dir, filepath.Join(dir, "intrarun")
	bin.hpccg, bin.plain = filepath.Join(dir, "hpccg"), filepath.Join(dir, "hpccg-plain")
	for _, args := range [][]string{
		{"build", "-o", bin.intrarun, "../../cmd/intrarun"},
		{"build", "-tags", "intra", "-o", bin.hpccg, "."},
		{"build", "-o", bin.plain, "."},
	} {
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "go %s: %v\n%s", strings.Join(args, " "), err, out)
			os.Exit(1)
		}
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// run is one run of intrarun.
type jobRun struct {
	code           int
	stdout, stderr string
	report         report
}

type failureReport struct {
	Process job.Process `json:"process"`
	Cause   job.Cause   `json:"cause"`
	Detail  string      `json:"detail"`
}

type report struct {
	ExitCode  int             `json:"exit_code"`
	Error     string          `json:"error"`
	Failures  []failureReport `json:"failures"`
	Processes []struct {
		Process     job.Process `json:"process"`
		Incarnation uint32      `json:"incarnation"`
		End         string      `json:"end"`
		Sections    int64       `json:"sections"`
		TasksRun    int64       `json:"tasks_run"`
	} `json:"processes"`
	Replacements []struct {
		Process     job.Process `json:"process"`
		Incarnation uint32      `json:"incarnation"`
		Donor       job.Process `json:"donor"`
		Bytes       int64       `json:"bytes"`
	} `json:"replacements"`
	Rollbacks []struct {
		Lost      []int  `json:"lost"`
		SafePoint uint64 `json:"safe_point"`
	} `json:"rollbacks"`
	Backup *struct {
		Complete int `json:"complete"`
	} `json:"backup"`
	Kills []struct {
		Process job.Process `json:"process"`
		When    string      `json:"when"`
		Fired   bool        `json:"fired"`
	} `json:"kills"`
	Checkpoint *struct {
		Sets []struct {
			Set   uint64 `json:"set"`
			Point uint64 `json:"safe_point"`
		} `json:"sets"`
		Abandoned []struct {
			Set uint64 `json:"set"`
			Why string `json:"why"`
		} `json:"abandoned"`
	} `json:"checkpoint"`
	Restart *struct {
		Point   uint64   `json:"safe_point"`
		Refused []string `json:"refused"`
	} `json:"restart"`
	Threads       int   `json:"threads"`
	Direct        []int `json:"direct"`
	UpdatesTorn   int64 `json:"updates_torn"`
	TasksRun      int64 `json:"tasks_run"`
	TasksReceived int64 `json:"tasks_received"`
	TasksRerun    int64 `json:"tasks_rerun"`
	UpdateBytes   int64 `json:"update_bytes"`
	TaskTypes     map[string]struct {
		WaitSeconds    float64 `json:"wait_seconds"`
		SectionSeconds float64 `json:"section_seconds"`
		Overlap        float64 `json:"overlap"`
		UpdateBytes    int64   `json:"update_bytes"`
		Stored         int64   `json:"stored"`
	} `json:"task_types"`
}

// end says how a process ended, "" if it was never started.
func (r *report) end(p job.Process) string {
	for _, one := range r.Processes {
		if one.Process == p {
			return one.End
		}
	}
	return ""
}

// start starts intrarun; the function returned waits for its end.
func start(t *testing.T, flags, program []string) (*exec.Cmd, func() jobRun) {
	t.Helper()
	reportFile := filepath.Join(t.TempDir(), "report.json")
	args := append([]string{"-report", reportFile}, flags...)
	cmd := exec.CommandContext(t.Context(), bin.intrarun, append(args, program...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Start())
	return cmd, func() jobRun {
		_ = cmd.Wait() // the exit code tells
		r := jobRun{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
		if b, err := os.ReadFile(reportFile); err == nil {
			require.NoError(t, json.Unmarshal(b, &r.report), "%s", b)
			require.Equal(t, r.code, r.report.ExitCode)
		}
		return r
	}
}

func intrarun(t *testing.T, flags string, program ...string) jobRun {
	t.Helper()
	_, wait := start(t, strings.Fields(flags), append([]string{bin.hpccg}, program...))
	return wait()
}

var small = strings.Fields("-nx 6 -ny 5 -nz 4 -iters 12 -json")

// sum returns the one line of JSON that a run printed, and its hash of x.
func (r jobRun) sum(t *testing.T) (result, string) {
	t.Helper()
	require.Zero(t, r.code, "%s", r.stderr)
	require.Equal(t, 1, strings.Count(r.stdout, "\n"), "%s", r.stdout)
	return bits(t, r.stdout)
}

// bits reads what HPCCG printed, and a text that tells all its bits: x does not
// change any more once it has converged, the residuals go on to do so.
func bits(t *testing.T, stdout string) (result, string) {
	t.Helper()
	var out struct {
		result
		Residual *float64 `json:"residual"`
		Error    *float64 `json:"error"`
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &out))
	require.Len(t, out.XSHA256, 64)
	residual, err := json.Marshal(out.Residual)
	require.NoError(t, err)
	return out.result, fmt.Sprint(out.XSHA256, " ", string(residual), " ", out.History)
}

func plain(t *testing.T, args ...string) jobRun {
	t.Helper()
	out, err := exec.Command(bin.plain, args...).Output()
	require.NoError(t, err)
	return jobRun{stdout: string(out)}
}

func TestEveryDegreeAndLink(t *testing.T) {
	args := strings.Fields("-nx 20 -ny 30 -nz 10 -json")
	r, want := plain(t, args...).sum(t)
	require.Equal(t, 149, r.Iterations)
	require.InEpsilon(t, 486.75250384564021, float64(r.History[0]), 1e-13)
	for replicas := 1; replicas <= 4; replicas++ {
		for _, link := range []string{"shm", "unix", "tcp"} {
			for _, sched := range []string{"static", "adaptive"} {
				flags := fmt.Sprintf("-n 1 -r %d -link %s -sched %s", replicas, link, sched)
				_, got := intrarun(t, flags, args...).sum(t)
				require.Equal(t, want, got, flags)
			}
		}
	}
}

func TestRanks(t *testing.T) {
	args := strings.Fields("-nx 16 -ny 16 -nz 16 -json -tasks 1 -kernels sequential")
	for ranks, last := range map[int]float64{1: 1.430476575833492e-60, 2: 1.3637861204333476e-43, 4: 6.1842878198936232e-37} {
		for _, degree := range []int{1, 2} {
			r, _ := intrarun(t, fmt.Sprintf("-n %d -r %d", ranks, degree), args...).sum(t)
			require.Equal(t, last, float64(r.History[148]))
		}
	}
}

// kills runs the small problem with kills and checks that all of them fired
// and nothing shows in the result.
func kills(t *testing.T, want, flags string, list ...string) jobRun {
	t.Helper()
	for _, k := range list {
		flags += " -kill " + k
	}
	r := intrarun(t, flags, small...)
	_, got := r.sum(t)
	require.Equal(t, want, got, flags)
	require.Len(t, r.report.Kills, len(list), flags)
	for _, k := range r.report.Kills {
		require.True(t, k.Fired, "%s: %v", flags, k)
	}
	require.Len(t, r.report.Failures, len(list), flags)
	for _, f := range r.report.Failures {
		require.Equal(t, job.CauseInjected, f.Cause, flags)
	}
	return r
}

// The small problem has 58 sections; with two replicas and the static
// schedule each of them runs and sends 8 tasks in each.
const sections, tasksOfEach = 58, 58 * 8

func TestKillAtEveryPoint(t *testing.T) {
	_, want := plain(t, small...).sum(t)
	t.Run("one of two", func(t *testing.T) {
		for i := range 12 {
			victim, link := i%2, []string{"shm", "unix", "tcp"}[i%3]
			flags := "-r 2 -sched static -link " + link
			kills(t, want, flags, fmt.Sprintf("0.%d@section:%d", victim, i*(sections-1)/11))
			kills(t, want, flags, fmt.Sprintf("0.%d@task:%d", victim, i*(tasksOfEach-1)/11))
			kills(t, want, flags, fmt.Sprintf("0.%d@update:%d", victim, i*(tasksOfEach-1)/11))
		}
	})
	t.Run("two of three", func(t *testing.T) {
		for i := range 8 {
			a, b := i%3, (i+1)%3
			for _, point := range []string{"section", "task", "update"} {
				most := map[string]int{"section": sections, "task": 58 * 5, "update": 58 * 5}[point]
				k := i * (most - 1) / 7
				kills(t, want, "-r 3 -sched static", fmt.Sprintf("0.%d@%s:%d", a, point, k), fmt.Sprintf("0.%d@%s:%d", b, point, k))
			}
		}
	})
	t.Run("at random", func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2015))
		for range 20 {
			r := 2 + rng.IntN(2)
			point := []string{"section", "task", "update"}[rng.IntN(3)]
			most := map[string]int{"section": sections, "task": 58 * 5, "update": 58 * 5}[point]
			kills(t, want, fmt.Sprintf("-r %d -sched static", r), fmt.Sprintf("0.%d@%s:%d", rng.IntN(r), point, rng.IntN(most)))
		}
	})
}

// Where an update can be torn, one is seen to be.
func TestTornUpdatesOfRealProcesses(t *testing.T) {
	args := strings.Fields("-nx 64 -ny 64 -nz 32 -iters 6 -json")
	_, want := plain(t, args...).sum(t)
	for _, link := range []string{"-link unix", "-link tcp", "-link shm -ring 4096"} {
		t.Run(link, func(t *testing.T) {
			torn := int64(0)
			for _, kill := range []string{"0.0@update:3", "0.1@update:30", "0.1@update:70", "0.0@update:160"} {
				r := intrarun(t, "-r 2 -sched static "+link+" -kill "+kill, args...)
				_, got := r.sum(t)
				require.Equal(t, want, got)
				require.True(t, r.report.Kills[0].Fired)
				torn += r.report.UpdatesTorn
			}
			require.Positive(t, torn)
		})
	}
}

func TestKillsWithRanks(t *testing.T) {
	args := strings.Fields("-nx 6 -ny 5 -nz 4 -iters 20 -json")
	_, want := intrarun(t, "-n 4 -r 1", args...).sum(t)
	rng := rand.New(rand.NewPCG(4, 2013))
	for _, flags := range []string{"-n 4 -r 2", "-degrees 2,1,2,3"} {
		for i := range 12 {
			rank := rng.IntN(4)
			if flags != "-n 4 -r 2" && rank == 1 {
				rank = 3
			}
			point := []string{"message", "section", "task", "update"}[i%4]
			most := map[string]int{"message": 30, "section": 90, "task": 400, "update": 400}[point]
			kill := fmt.Sprintf("%d.%d@%s:%d", rank, rng.IntN(2), point, rng.IntN(most))
			r := intrarun(t, flags+" -sched static -kill "+kill, args...)
			_, got := r.sum(t)
			require.Equal(t, want, got, kill)
			require.True(t, r.report.Kills[0].Fired, kill)
			require.Len(t, r.report.Failures, 1, kill)
		}
	}
	r := intrarun(t, "-degrees 2,1,2,3 -kill 1.0@message:5", args...)
	require.Equal(t, 3, r.code)
	require.Contains(t, r.report.Error, "rank 1")
}

func TestAllReplicasKilled(t *testing.T) {
	r := intrarun(t, "-r 2 -sched static -kill 0.0@task:30 -kill 0.1@task:200", small...)
	require.Equal(t, 3, r.code)
	require.Contains(t, r.stderr, "rank 0 has lost its last replica")
	require.NotEmpty(t, r.report.Error)
	require.Empty(t, r.stdout)
}

// A stopped replica is fenced, and the job ends right, though the other one
// waits for what it has begun.
func TestStoppedReplica(t *testing.T) {
	args := strings.Fields("-nx 80 -ny 80 -nz 80 -json") // a second or more
	_, want := plain(t, args...).sum(t)
	for _, flags := range []string{"-r 2 -sched static", "-r 2 -direct"} {
		t.Run(flags, func(t *testing.T) {
			cmd, wait := start(t, strings.Fields(flags), append([]string{bin.hpccg}, args...))
			var children []int
			require.Eventually(t, func() bool {
				children = childrenOf(t, cmd.Process.Pid)
				return len(children) == 2
			}, 10*time.Second, 5*time.Millisecond)
			time.Sleep(100 * time.Millisecond) // into the run, wherever that is
			require.NoError(t, syscall.Kill(children[1], syscall.SIGSTOP))
			r := wait()
			_, got := r.sum(t)
			require.Equal(t, want, got)
			require.Len(t, r.report.Failures, 1)
			require.Equal(t, job.CauseFenced, r.report.Failures[0].Cause)
			require.Error(t, syscall.Kill(children[1], 0), "it is still there")
		})
	}
}

// childrenOf lists the processes of the program whose parent is pid.
func childrenOf(t *testing.T, pid int) []int {
	entries, err := os.ReadDir("/proc")
	require.NoError(t, err)
	var all []int
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // it has gone since
		}
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(pid) && running(child) {
			all = append(all, child)
		}
	}
	return all
}

// Nothing survives intrarun, however it ends.
func TestNothingIsLeftBehind(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			cmd, wait := start(t, strings.Fields("-n 2 -r 2"), []string{bin.hpccg, "-nx", "80", "-ny", "80", "-nz", "80", "-json"})
			var children []int
			require.Eventually(t, func() bool {
				children = childrenOf(t, cmd.Process.Pid)
				return len(children) == 4
			}, 10*time.Second, 5*time.Millisecond)
			require.NoError(t, cmd.Process.Signal(signal))
			wait()
			for _, child := range children {
				require.Eventually(t, func() bool { return !running(child) }, 10*time.Second, 10*time.Millisecond)
			}
		})
	}
}

// running reports whether a process of the program has that pid.
func running(pid int) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil && exe == bin.hpccg
}

func TestBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-nx 0":               "-nx, -ny and -nz must be at least 1",
		"-tasks 0":            "-tasks must be at least 1",
		"-kernels quick":      "want simd or sequential",
		"-nx 30000 -ny 30000": "use more ranks",
		"extra":               `unexpected argument "extra"`,
	} {
		cmd := exec.Command(bin.plain, strings.Fields(args)...)
		stderr, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		text, err := io.ReadAll(stderr)
		require.NoError(t, err)
		require.Error(t, cmd.Wait())
		require.Contains(t, string(text), want)
	}
}

// Replicas on unlike CPUs stay equal: each of three replicas uses another path
// of the kernels, and checked mode compares all bits after every section.
func TestEveryKernelPathAgrees(t *testing.T) {
	paths := []string{"go"}
	if cpuid.CPU.Has(cpuid.AVX2) {
		paths = append(paths, "avx2")
	}
	if cpuid.CPU.Has(cpuid.AVX512F) && cpuid.CPU.Has(cpuid.AVX512DQ) {
		paths = append(paths, "avx512")
	}
	if len(paths) == 1 {
		t.Skip("this CPU has neither AVX2 nor AVX-512: there is one path only")
	}
	script := filepath.Join(t.TempDir(), "each-its-path")
	text := "#!/bin/sh\ncase $INTRA_PROCESS in\n"
	for i, p := range paths {
		text += fmt.Sprintf("0.%d) export INTRA_KERNELS=%s;;\n", i, p)
	}
	text += "esac\nexec \"$@\"\n"
	require.NoError(t, os.WriteFile(script, []byte(text), 0o755))
	_, want := plain(t, small...).sum(t)
	for _, check := range []string{"", "-check "} {
		_, wait := start(t, strings.Fields(check+fmt.Sprintf("-r %d", len(paths))), append([]string{script, bin.hpccg}, small...))
		_, got := wait().sum(t)
		require.Equal(t, want, got)
	}
}

// What the program prints while checked mode tries to restore it is not seen;
// here the last trial goes on to the end of the program.
func TestTrialsPrintNothing(t *testing.T) {
	lines := func(r jobRun) (list []string) {
		for l := range strings.Lines(r.stdout) {
			if strings.HasPrefix(l, "HPCCG") || strings.HasPrefix(l, "pass") || strings.Contains(l, "largest error") {
				list = append(list, l)
			}
		}
		return list
	}
	args := strings.Fields("-nx 6 -ny 5 -nz 4 -iters 9")
	want := intrarun(t, "-n 2 -r 1", args...)
	require.Zero(t, want.code, want.stderr)
	require.Len(t, lines(want), 10)
	got := intrarun(t, "-n 2 -r 2 -check", args...)
	require.Zero(t, got.code, got.stderr)
	require.Equal(t, lines(want), lines(got))
}
