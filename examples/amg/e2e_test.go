//go:build !intra

package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// The tests in this file start real processes through intrarun, and kill them with real
// signals. They build the programs themselves, with and without the tag, so they can be run
// without the tag.

// binaries are the programs that the tests have built.
var binaries jobtest.Binaries

func TestMain(m *testing.M) { os.Exit(binaries.Main(m)) }

var amg = jobtest.Program{Binaries: &binaries, Folder: "examples/amg", Times: "seconds times",
	Check: func(t testing.TB, line []byte) {
		var r result
		require.NoError(t, json.Unmarshal(line, &r))
		require.Len(t, r.XSHA256, 64)
		require.Len(t, r.History, r.Iterations+1)
		require.True(t, r.Converged)
		require.Positive(t, r.Seconds)
	}}

// The test combines degrees, links and schedules in turn with problems and solvers.
func TestEveryProblem(t *testing.T) {
	const (
		cubes  = "-problem 27pt -solver pcg -nx 16 -ny 16 -nz 16"
		cross  = "-problem 7pt -solver gmres -nx 16 -ny 16 -nz 16"
		flat   = "-problem 5pt -solver pcg -nx 60 -ny 50"
		uneven = "-problem 27pt -solver gmres -nx 20 -ny 10 -nz 12"
	)
	amg.Same(t, jobtest.Some([]jobtest.Case{
		{Args: cubes, Flags: "-r 2 -link shm -sched static"},
		{Args: cubes, Flags: "-degrees 1,2 -link shm"},
		{Args: cross, Flags: "-r 3 -link tcp -sched adaptive"},
		{Args: cross, Flags: "-n 2 -r 3 -link tcp"},
		{Args: flat, Flags: "-r 1 -link shm -sched replicate"},
		{Args: flat, Flags: "-degrees 3,1 -sched static"},
		{Args: uneven, Flags: "-r 2 -link tcp -sched static"},
		{Args: uneven, Flags: "-n 2 -r 2 -direct"},
	}, 0, 5, 7)...)
}

// Some real processes die and are recovered, and the result does not change. Package
// internal/testkit/systemtest has many more cases.
func TestKills(t *testing.T) {
	const args = "-problem 7pt -nx 16 -ny 16 -nz 16"
	amg.Same(t, []jobtest.Case{
		{Args: args, Flags: "-r 3 -sched static -link tcp", Kills: "0.0@task:33 0.2@update:500"},
		{Args: args, Flags: "-r 2 -direct", Kills: "0.0@section:150"},
		{Args: args, Flags: "-n 2 -r 2 -link tcp", Kills: "1.0@message:100"},
		{Args: args, Flags: "-n 2 -r 2 -replace", Kills: "0.1@section:20 1.0@section:400"},
		{Args: args, Flags: "-n 2 -r 1 -spares 1 -backup 2", Kills: "1.0@section:420"},
	}...)
}

// A run without -json prints text for people.
func TestOutput(t *testing.T) {
	amg.Prints(t, "-problem 27pt -nx 32 -ny 32 -nz 32",
		"AMG, 27pt stencil on 32 × 32 × 32 points for each of 1 ranks, pcg, at most 16 tasks a section",
		"level 1: 1331 unknowns, 29791 nonzeros",
		"iteration 1 residual ",
		"converged: ",
		"operator complexity 1.0371, grid complexity 1.0428")
}

func TestBadFlags(t *testing.T) {
	amg.Refuses(t, map[string]string{
		"-nx 0":                      "-nx, -ny and -nz must be at least 1",
		"-nx 2048 -ny 2048 -nz 1024": "use more ranks",
		"-problem 5pt -nz 3":         "-problem 5pt is flat: -nz must be 1",
		"-problem 9pt":               "-problem 9pt: want 5pt, 7pt, 27pt",
		"-solver cg":                 "-solver cg: want pcg, gmres",
		"-tolerance 1":               "-tolerance must be at least 0 and less than 1",
		"-iterations -1":             "-iterations must not be negative",
		"-tasks 0":                   "-tasks must be at least 1",
		"extra":                      `unexpected argument "extra"`,
	})
}
