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

const folder = "examples/minighost"

// minighost runs a program with flags of intrarun, and returns the line that it
// prints without what differs from run to run: the times.
func minighost(t *testing.T, flags, program string, args ...string) (result, jobtest.Result) {
	t.Helper()
	args = append([]string{program, "-nx", "32", "-ny", "24", "-nz", "16", "-vars", "3", "-steps", "20", "-json"}, args...)
	job := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags), Program: args})
	require.Zero(t, job.Code, "%s\n%s", flags, job.Stderr)
	require.Equal(t, 1, strings.Count(job.Stdout, "\n"), job.Stdout)
	var r result
	require.NoError(t, json.Unmarshal([]byte(job.Stdout), &r))
	require.Len(t, r.Sums, 3)
	require.True(t, r.Verified)
	require.Less(t, float64(r.Error), 1e-12)
	require.Positive(t, r.Seconds)
	r.Times, r.Seconds = seconds{}, 0
	return r, job
}

// Degrees, links, schedules and messages take turns with the stencils.
func TestEveryStencil(t *testing.T) {
	program, plain := binaries.Program(t, folder), binaries.Plain(t, folder)
	for i, s := range stencils {
		args := []string{"-stencil", s, "-comm", methods[i%2]}
		for ranks, flags := range map[int]string{
			1: fmt.Sprintf("-r %d -link %s -sched %s", 1+(i+1)%3, []string{"shm", "tcp"}[i%2], []string{"static", "adaptive", "replicate"}[i%3]),
			2: []string{"-degrees 1,2 -link shm", "-n 2 -r 3 -link tcp", "-degrees 3,1 -sched static", "-n 2 -r 2 -direct"}[i],
		} {
			want, _ := minighost(t, fmt.Sprintf("-n %d -r 1", ranks), plain, args...)
			got, _ := minighost(t, flags, program, args...)
			require.Equal(t, want, got, flags)
		}
	}
}

// A handful of deaths of real processes, and what may follow them; package
// internal/systemtest has many more. Nothing shows in the result.
func TestKills(t *testing.T) {
	args := []string{"-stencil", "3d27"}
	want := make(map[int]result) // by ranks
	for ranks := 1; ranks <= 2; ranks++ {
		want[ranks], _ = minighost(t, fmt.Sprintf("-n %d -r 1", ranks), binaries.Plain(t, folder), args...)
	}
	for _, c := range []struct {
		ranks        int
		flags, kills string
	}{
		{1, "-r 3 -sched static -link tcp", "0.0@task:33 0.2@update:200"},
		{1, "-r 2 -direct", "0.0@section:40"},
		{2, "-r 2 -link tcp", "1.0@message:60"},
		{2, "-r 2 -replace", "0.1@section:40 1.0@section:90"},
		{2, "-r 1 -spares 1 -backup 5", "1.0@section:70"},
	} {
		flags := fmt.Sprintf("-n %d %s", c.ranks, c.flags)
		for _, kill := range strings.Fields(c.kills) {
			flags += " -kill " + kill
		}
		t.Run(flags, func(t *testing.T) {
			got, job := minighost(t, flags, binaries.Program(t, folder), args...)
			require.Equal(t, want[c.ranks], got)
			report := job.Summary(t)
			require.Len(t, report.Failures, len(strings.Fields(c.kills)), job.Stderr)
			report.RequireFired(t)
		})
	}
}

// What is printed for people.
func TestOutput(t *testing.T) {
	out, err := exec.Command(binaries.Plain(t, folder), strings.Fields("-nx 16 -ny 16 -nz 16 -steps 20")...).Output()
	require.NoError(t, err)
	for _, want := range []string{
		"miniGhost, 2d5 stencil, 5 variables on 16 × 16 × 16 points for each of 1 × 1 × 1 ranks, bspma",
		"step    20  variable 1: sum ",
		"verified: 5 variables, largest error of a sum ",
		"stencil",
	} {
		require.Contains(t, string(out), want)
	}
}

func TestBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"-nx 0":                      "-nx, -ny and -nz must be at least 1",
		"-nx 2048 -ny 2048 -nz 1024": "use more ranks",
		"-npx 2 -npy 1 -npz 1":       "-npx 2 -npy 1 -npz 1 make 2 ranks, and there are 1",
		"-npy -1":                    "must not be negative",
		"-vars 41":                   "-vars must be 1 to 40",
		"-steps -1":                  "-steps must not be negative",
		"-spikes 0":                  "-spikes must be at least 1",
		"-tasks 0":                   "-tasks must be at least 1",
		"-stencil 3d9":               "-stencil 3d9: want 2d5, 2d9, 3d7, 3d27",
		"-comm async":                "-comm async: want bspma, svaf",
		"extra":                      `unexpected argument "extra"`,
	} {
		out, err := exec.Command(binaries.Plain(t, folder), strings.Fields(args)...).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), want)
	}
}
