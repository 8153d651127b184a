//go:build !intra

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/cpuid/v2"
	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// The tests in this file start real processes through intrarun, and kill them with real
// signals. They build the programs themselves, with and without the tag, so they can be run
// without the tag.

// binaries are the programs that the tests have built.
var binaries jobtest.Binaries

func TestMain(m *testing.M) { os.Exit(binaries.Main(m)) }

const folder = "examples/hpccg"

// jobRun is the output of a job.
type jobRun struct {
	jobtest.Result
	report *jobtest.Report
}

// intrarun runs a program with its arguments.
func intrarun(t *testing.T, flags string, program ...string) jobRun {
	t.Helper()
	r := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags), Program: program})
	return jobRun{r, r.Summary(t)}
}

// hpccg runs the program with the flags of intrarun and its own.
func hpccg(t *testing.T, flags string, args ...string) jobRun {
	t.Helper()
	return intrarun(t, flags, append([]string{binaries.Program(t, folder)}, args...)...)
}

// plain runs the program that is built without the tag.
func plain(t *testing.T, ranks int, args ...string) jobRun {
	t.Helper()
	return intrarun(t, fmt.Sprintf("-n %d -r 1", ranks), append([]string{binaries.Plain(t, folder)}, args...)...)
}

// sum returns the result from the line of JSON that a run printed, and a text with all its
// bits. The text contains the residuals, because x no longer changes once it has converged.
func (r jobRun) sum(t *testing.T) (result, string) {
	t.Helper()
	require.Zero(t, r.Code, "%s", r.Stderr)
	require.Equal(t, 1, strings.Count(r.Stdout, "\n"), "%s", r.Stdout)
	var out struct {
		result
		Residual *float64 `json:"residual"`
		Error    *float64 `json:"error"`
	}
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &out))
	require.Len(t, out.XSHA256, 64)
	residual, err := json.Marshal(out.Residual)
	require.NoError(t, err)
	return out.result, fmt.Sprint(out.XSHA256, " ", string(residual), " ", out.History)
}

func TestEveryDegreeAndLink(t *testing.T) {
	args := strings.Fields("-nx 20 -ny 30 -nz 10 -json")
	r, want := plain(t, 1, args...).sum(t)
	require.Equal(t, 149, r.Iterations)
	require.InEpsilon(t, 486.75250384564021, float64(r.History[0]), 1e-13)
	for i, link := range []string{"shm", "unix", "tcp"} {
		for _, replicas := range jobtest.Some([]int{1, 2, 3, 4}, 1+i%2) {
			flags := fmt.Sprintf("-r %d -link %s -sched %s", replicas, link, []string{"static", "adaptive"}[(i+replicas)%2])
			_, got := hpccg(t, flags, args...).sum(t)
			require.Equal(t, want, got, flags)
		}
	}
}

func TestRanks(t *testing.T) {
	args := strings.Fields("-nx 16 -ny 16 -nz 16 -json -tasks 1 -kernels sequential")
	for ranks, last := range map[int]float64{1: 1.430476575833492e-60, 2: 1.3637861204333476e-43, 4: 6.1842878198936232e-37} {
		for _, degree := range []int{1, 2} {
			r, _ := hpccg(t, fmt.Sprintf("-n %d -r %d", ranks, degree), args...).sum(t)
			require.Equal(t, last, float64(r.History[148]))
		}
	}
}

// Some real processes die and are recovered, and the result does not change. Package
// internal/testkit/systemtest has many more cases.
func TestKills(t *testing.T) {
	args := strings.Fields("-nx 6 -ny 5 -nz 4 -iters 40 -json")
	want := make(map[int]string) // expected text by number of ranks
	for ranks := 1; ranks <= 2; ranks++ {
		_, want[ranks] = plain(t, ranks, args...).sum(t)
	}
	for _, c := range []struct {
		ranks        int
		flags, kills string
	}{
		{1, "-r 2 -sched static", "0.1@section:100"},
		{1, "-r 2 -sched static -link unix", "0.0@update:77"},
		{1, "-r 3 -sched static", "0.0@task:33 0.2@update:200"},
		{1, "-r 2 -threads 2 -sched static", "0.1@task:150"},
		{2, "-r 2 -link tcp", "1.0@message:9"},
		{2, "-r 2 -direct", "0.1@section:50 1.0@section:120"},
		{2, "-r 2 -replace", "0.1@section:40"},
		{2, "-r 1 -spares 1 -backup 5", "1.0@section:150"},
		{1, "-r 2 -lag 1ms -fault stale", "0.1@section:100"},
		{2, "-r 2 -lag 1ms -fault stale -link tcp", "1.0@update:90"},
	} {
		flags := fmt.Sprintf("-n %d %s", c.ranks, c.flags)
		for _, kill := range strings.Fields(c.kills) {
			flags += " -kill " + kill
		}
		t.Run(flags, func(t *testing.T) {
			r := hpccg(t, flags, args...)
			_, got := r.sum(t)
			require.Equal(t, want[c.ranks], got)
			require.Len(t, r.report.Failures, len(strings.Fields(c.kills)), r.Stderr)
			r.report.RequireFired(t)
		})
	}
	t.Run("all replicas", func(t *testing.T) {
		r := hpccg(t, "-r 2 -sched static -kill 0.0@task:30 -kill 0.1@task:200", args...)
		require.Equal(t, 3, r.Code)
		require.Contains(t, r.Stderr, "rank 0 has lost its last replica")
		require.Empty(t, r.Stdout)
	})
}

func TestBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-nx 0":               "-nx, -ny and -nz must be at least 1",
		"-tasks 0":            "-tasks must be at least 1",
		"-kernels quick":      "want simd or sequential",
		"-nx 30000 -ny 30000": "use more ranks",
		"extra":               `unexpected argument "extra"`,
	} {
		out, err := exec.Command(binaries.Plain(t, folder), strings.Fields(args)...).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), want)
	}
}

// Deaths with -fused: at a task, before an update that has been stored or sent, and with a
// rollback to a backup. The state in such a backup differs from that without -fused.
func TestFusedKills(t *testing.T) {
	args := strings.Fields("-nx 6 -ny 5 -nz 4 -iters 40 -json -fused")
	_, want := plain(t, 2, args...).sum(t)
	for _, flags := range []string{
		"-r 2",
		"-r 2 -sched static -kill 0.1@task:150",
		"-r 2 -direct -kill 0.1@section:50 -kill 1.0@section:120",
		"-r 2 -direct=off -sched static -link tcp -kill 0.0@update:77",
		"-r 2 -direct -replace -kill 0.1@task:200",
		"-r 1 -spares 1 -backup 5 -kill 1.0@section:100",
	} {
		r := hpccg(t, "-n 2 "+flags, args...)
		_, got := r.sum(t)
		require.Equal(t, want, got, flags)
		r.report.RequireFired(t)
	}
}

// The vectors are large enough for tasks to store their results while they run. The runtime
// decides by measurements, so not every kill happens.
func TestKillsInTheMiddleOfStores(t *testing.T) {
	args := strings.Fields("-nx 128 -ny 64 -nz 64 -iters 6 -json")
	_, want := plain(t, 1, args...).sum(t)
	for _, kill := range []string{"0.1@update:40", "0.0@task:75"} {
		_, got := hpccg(t, "-r 2 -direct -kill "+kill, args...).sum(t)
		require.Equal(t, want, got, kill)
	}
}

// Replicas on different CPUs stay equal: each of three replicas uses another path of the
// kernels, and checked mode compares all bits after every section.
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
	args := strings.Fields("-nx 6 -ny 5 -nz 4 -iters 12 -json")
	_, want := plain(t, 1, args...).sum(t)
	for _, check := range []string{"", "-check "} {
		_, got := intrarun(t, check+fmt.Sprintf("-r %d", len(paths)), append([]string{script, binaries.Program(t, folder)}, args...)...).sum(t)
		require.Equal(t, want, got)
	}
}

// The output of the program during a trial of checked mode is not shown. The last trial
// here continues to the end of the program.
func TestTrialsPrintNothing(t *testing.T) {
	lines := func(r jobRun) (list []string) {
		for l := range strings.Lines(r.Stdout) {
			if strings.HasPrefix(l, "HPCCG") || strings.HasPrefix(l, "pass") || strings.Contains(l, "largest error") {
				list = append(list, l)
			}
		}
		return list
	}
	args := strings.Fields("-nx 6 -ny 5 -nz 4 -iters 9")
	want := hpccg(t, "-n 2 -r 1", args...)
	require.Zero(t, want.Code, want.Stderr)
	require.Len(t, lines(want), 10)
	got := hpccg(t, "-n 2 -r 2 -check", args...)
	require.Zero(t, got.Code, got.Stderr)
	require.Equal(t, lines(want), lines(got))
}
