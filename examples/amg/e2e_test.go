//go:build !intra

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/jobtest"
)

// The tests in this file start real processes through intrarun, and kill them
// with real signals. They build the programs both ways themselves, so running
// them without the tag is enough.

// binaries are what the tests have built.
var binaries jobtest.Binaries

func TestMain(m *testing.M) { os.Exit(binaries.Main(m)) }

const folder = "examples/amg"

// amg runs a program with flags of intrarun, and returns the line that it
// prints without what differs from run to run: the times.
func amg(t *testing.T, flags, program string, args ...string) (result, jobtest.Result) {
	t.Helper()
	args = append([]string{program, "-json"}, args...)
	job := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags), Program: args})
	require.Zero(t, job.Code, "%s\n%s", flags, job.Stderr)
	require.Equal(t, 1, strings.Count(job.Stdout, "\n"), job.Stdout)
	var r result
	require.NoError(t, json.Unmarshal([]byte(job.Stdout), &r))
	require.Len(t, r.XSHA256, 64)
	require.Len(t, r.History, r.Iterations+1)
	require.True(t, r.Converged)
	require.Positive(t, r.Seconds)
	r.Times, r.Seconds = seconds{}, 0
	return r, job
}

// Degrees, links and schedules take turns with problems and solvers.
func TestEveryProblem(t *testing.T) {
	program, plain := binaries.Program(t, folder), binaries.Plain(t, folder)
	for i, args := range []string{
		"-problem 27pt -solver pcg -nx 16 -ny 16 -nz 16",
		"-problem 7pt -solver gmres -nx 16 -ny 16 -nz 16",
		"-problem 5pt -solver pcg -nx 60 -ny 50",
		"-problem 27pt -solver gmres -nx 20 -ny 10 -nz 12",
	} {
		args := strings.Fields(args)
		for ranks, flags := range map[int]string{
			1: fmt.Sprintf("-r %d -link %s -sched %s", 1+(i+1)%3, []string{"shm", "tcp"}[i%2], []string{"static", "adaptive", "replicate"}[i%3]),
			2: []string{"-degrees 1,2 -link shm", "-n 2 -r 3 -link tcp", "-degrees 3,1 -sched static", "-n 2 -r 2 -direct"}[i],
		} {
			want, _ := amg(t, fmt.Sprintf("-n %d -r 1", ranks), plain, args...)
			got, _ := amg(t, flags, program, args...)
			require.Equal(t, want, got, flags)
		}
	}
}

// A handful of deaths of real processes, and what may follow them; package
// internal/systemtest has many more. Nothing shows in the result.
func TestKills(t *testing.T) {
	args := strings.Fields("-problem 7pt -nx 16 -ny 16 -nz 16")
	want := make(map[int]result) // by ranks
	for ranks := 1; ranks <= 2; ranks++ {
		want[ranks], _ = amg(t, fmt.Sprintf("-n %d -r 1", ranks), binaries.Plain(t, folder), args...)
	}
	for _, c := range []struct {
		ranks        int
		flags, kills string
	}{
		{1, "-r 3 -sched static -link tcp", "0.0@task:33 0.2@update:500"},
		{1, "-r 2 -direct", "0.0@section:150"},
		{2, "-r 2 -link tcp", "1.0@message:100"},
		{2, "-r 2 -replace", "0.1@section:20 1.0@section:400"},
		{2, "-r 1 -spares 1 -backup 2", "1.0@section:420"},
	} {
		flags := fmt.Sprintf("-n %d %s", c.ranks, c.flags)
		for _, kill := range strings.Fields(c.kills) {
			flags += " -kill " + kill
		}
		t.Run(flags, func(t *testing.T) {
			got, job := amg(t, flags, binaries.Program(t, folder), args...)
			require.Equal(t, want[c.ranks], got)
			report := job.Summary(t)
			require.Len(t, report.Failures, len(strings.Fields(c.kills)), job.Stderr)
			report.RequireFired(t)
		})
	}
}

// What is printed for people.
func TestOutput(t *testing.T) {
	out, err := exec.Command(binaries.Plain(t, folder), strings.Fields("-problem 27pt -nx 32 -ny 32 -nz 32")...).Output()
	require.NoError(t, err)
	for _, want := range []string{
		"AMG, 27pt stencil on 32 × 32 × 32 points for each of 1 ranks, pcg, at most 16 tasks a section",
		"level 1:       1331 unknowns,       29791 nonzeros\n",
		"iteration   1  residual ",
		"converged: ",
		"operator complexity 1.0371, grid complexity 1.0428",
	} {
		require.Contains(t, string(out), want)
	}
}

func TestBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-nx 0":                      "-nx, -ny and -nz must be at least 1",
		"-nx 2048 -ny 2048 -nz 1024": "use more ranks",
		"-problem 5pt -nz 3":         "-problem 5pt is flat: -nz must be 1",
		"-problem 9pt":               "-problem 9pt: want 5pt, 7pt, 27pt",
		"-solver cg":                 "-solver cg: want pcg, gmres",
		"-tolerance 1":               "-tolerance must be at least 0 and less than 1",
		"-iterations -1":             "-iterations must not be negative",
		"-tasks 0":                   "-tasks must be at least 1",
		"extra":                      `unexpected argument "extra"`,
	} {
		out, err := exec.Command(binaries.Plain(t, folder), strings.Fields(args)...).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), want)
	}
}
