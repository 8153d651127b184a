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

const folder = "examples/hpcg"

// hpcg runs a program with flags of intrarun, and returns the line that it prints
// without what differs from run to run: the times.
func hpcg(t *testing.T, flags, program string, args ...string) (result, jobtest.Result) {
	t.Helper()
	args = append([]string{program, "-nx", "16", "-ny", "16", "-nz", "16", "-json"}, args...)
	job := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags), Program: args})
	require.Zero(t, job.Code, "%s\n%s", flags, job.Stderr)
	require.Equal(t, 1, strings.Count(job.Stdout, "\n"), job.Stdout)
	var r result
	require.NoError(t, json.Unmarshal([]byte(job.Stdout), &r))
	require.Len(t, r.XSHA256, 64)
	require.Len(t, r.History, 51)
	require.True(t, r.Valid, r.faults())
	require.Positive(t, r.GFLOPS)
	require.Positive(t, r.Seconds)
	r.Times, r.GFLOPS, r.Seconds = times{}, 0, 0
	return r, job
}

// The values of the original hold for every degree and link.
func TestNaturalOrderOfRealProcesses(t *testing.T) {
	program := binaries.Program(t, folder)
	for ranks, row := range map[int][4]float64{
		1: {368.70584481399260, 1.7528847365267122e-01, 8.3595018369475332e-02, 4.1734738539736917e-04},
		2: {472.14404581652832, 1.8645663795362694e-01, 9.6933450979597990e-02, 7.5472086337801808e-03},
	} {
		plain, _ := hpcg(t, fmt.Sprintf("-n %d -r 1", ranks), binaries.Plain(t, folder), "-smoother", "natural")
		require.InEpsilonSlice(t, row[:], []float64{plain.R0, plain.History[1], plain.History[2], plain.History[5]}, 1e-10)
		for _, flags := range []string{"-r 2 -link shm", "-r 3 -link tcp -sched static"} {
			got, _ := hpcg(t, fmt.Sprintf("-n %d %s", ranks, flags), program, "-smoother", "natural")
			require.Equal(t, plain, got, flags)
		}
	}
}

// A handful of deaths of real processes, and what may follow them; package
// internal/systemtest has many more. Nothing shows in the result.
func TestKills(t *testing.T) {
	want := make(map[int]result) // by ranks
	for ranks := 1; ranks <= 2; ranks++ {
		want[ranks], _ = hpcg(t, fmt.Sprintf("-n %d -r 1", ranks), binaries.Plain(t, folder))
	}
	for _, c := range []struct {
		ranks        int
		flags, kills string
	}{
		{1, "-r 2", ""},
		{1, "-r 2 -sched static", "0.1@section:1000"},
		{1, "-r 3 -sched static -link tcp", "0.0@task:333 0.2@update:2000"},
		{1, "-r 2 -threads 2 -sched static", "0.1@task:1500"},
		{1, "-r 2 -direct", "0.0@section:2000"},
		{2, "-r 2 -link tcp", "1.0@message:600"},
		{2, "-r 2 -sched static -link unix", "0.0@update:770"},
		{2, "-r 2 -replace", "0.1@section:400 1.0@section:900"},
		{2, "-r 1 -spares 1 -backup 20", "1.0@section:1500"},
	} {
		flags := fmt.Sprintf("-n %d %s", c.ranks, c.flags)
		for _, kill := range strings.Fields(c.kills) {
			flags += " -kill " + kill
		}
		t.Run(flags, func(t *testing.T) {
			got, job := hpcg(t, flags, binaries.Program(t, folder))
			require.Equal(t, want[c.ranks], got)
			report := job.Summary(t)
			require.Len(t, report.Failures, len(strings.Fields(c.kills)), job.Stderr)
			report.RequireFired(t)
		})
	}
}

// What is printed for people.
func TestOutput(t *testing.T) {
	out, err := exec.Command(binaries.Plain(t, folder), strings.Fields("-nx 16 -ny 16 -nz 16 -sets 2")...).Output()
	require.NoError(t, err)
	for _, want := range []string{
		"HPCG on 16 × 16 × 16 points for each of 1 × 1 × 1 ranks, smoother slab",
		"reference                      iteration   1  residual 1.752885e-01\n",
		"valid: 2 sets of 56 iterations",
		"spectral test 11 and 2 iterations",
		"rating ",
	} {
		require.Contains(t, string(out), want)
	}
}

func TestBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-nx 20":                     "multiples of 8, and at least 16",
		"-nz 8":                      "multiples of 8, and at least 16",
		"-nx 160 -ny 16 -nz 16":      "none may be more than 8 times another",
		"-nx 2048 -ny 2048 -nz 1024": "use more ranks",
		"-sets 0":                    "-sets must be at least 1",
		"-time -1s":                  "-time must not be negative",
		"-tasks 0":                   "-tasks must be at least 1",
		"-smoother jacobi":           "-smoother jacobi: want natural, slab, colour",
		"-nx 16 -ny 16 -nz 16 extra": `unexpected argument "extra"`,
	} {
		out, err := exec.Command(binaries.Plain(t, folder), strings.Fields(args)...).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), want)
	}
}
