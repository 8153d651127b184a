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

var hpcg = jobtest.Program{Binaries: &binaries, Folder: "examples/hpcg",
	Args: "-nx 16 -ny 16 -nz 16", Times: "seconds gflops times",
	Check: func(t testing.TB, line []byte) {
		var r result
		require.NoError(t, json.Unmarshal(line, &r))
		require.Len(t, r.XSHA256, 64)
		require.Len(t, r.History, 51)
		require.True(t, r.Valid, r.faults())
		require.Positive(t, r.GFLOPS)
		require.Positive(t, r.Seconds)
	}}

// The values of the original are reproduced for every degree and link.
func TestNaturalOrderOfRealProcesses(t *testing.T) {
	const natural = "-smoother natural"
	for ranks, row := range map[int][4]float64{
		1: {368.70584481399260, 1.7528847365267122e-01, 8.3595018369475332e-02, 4.1734738539736917e-04},
		2: {472.14404581652832, 1.8645663795362694e-01, 9.6933450979597990e-02, 7.5472086337801808e-03},
	} {
		line, err := json.Marshal(hpcg.Alone(t, ranks, natural))
		require.NoError(t, err)
		var r result
		require.NoError(t, json.Unmarshal(line, &r))
		require.InEpsilonSlice(t, row[:], []float64{r.R0, r.History[1], r.History[2], r.History[5]}, 1e-10)
	}
	hpcg.Same(t, jobtest.Some([]jobtest.Case{
		{Args: natural, Flags: "-r 2 -link shm"}, {Args: natural, Flags: "-r 3 -link tcp -sched static"},
		{Args: natural, Flags: "-n 2 -r 2 -link shm"}, {Args: natural, Flags: "-n 2 -r 3 -link tcp -sched static"},
	}, 2)...)
}

// Some real processes die and are recovered, and the result does not change. Package
// internal/testkit/systemtest has many more cases.
func TestKills(t *testing.T) {
	hpcg.Same(t, jobtest.Some([]jobtest.Case{
		{Flags: "-r 2"},
		{Flags: "-r 2 -sched static", Kills: "0.1@section:1000"},
		{Flags: "-r 3 -sched static -link tcp", Kills: "0.0@task:333 0.2@update:2000"},
		{Flags: "-r 2 -threads 2 -sched static", Kills: "0.1@task:1500"},
		{Flags: "-r 2 -direct", Kills: "0.0@section:2000"},
		{Flags: "-n 2 -r 2 -link tcp", Kills: "1.0@message:600"},
		{Args: "-smoother colour", Flags: "-n 2 -r 2 -sched static", Kills: "0.1@task:1300"},
		{Args: "-smoother colour", Flags: "-r 2 -link unix", Kills: "0.0@section:700"},
		{Flags: "-n 2 -r 2 -sched static -link unix", Kills: "0.0@update:770"},
		{Flags: "-n 2 -r 2 -replace", Kills: "0.1@section:400 1.0@section:900"},
		{Flags: "-n 2 -r 1 -spares 1 -backup 20", Kills: "1.0@section:1500"},
		{Flags: "-n 2 -r 2 -lag 1ms -fault stale", Kills: "1.0@section:1500"},
		{Args: "-smoother colour", Flags: "-r 2 -lag 1ms -fault stale", Kills: "0.1@task:900"},
	}, 1, 3, 4, 7, 9, 10, 11)...)
}

// A run without -json prints text for people.
func TestOutput(t *testing.T) {
	hpcg.Prints(t, "-nx 16 -ny 16 -nz 16 -sets 2",
		"HPCG on 16 × 16 × 16 points for each of 1 × 1 × 1 ranks, smoother slab",
		"reference iteration 1 residual 1.752885e-01",
		"valid: 2 sets of 56 iterations",
		"spectral test 11 and 2 iterations",
		"rating ")
}

func TestBadFlags(t *testing.T) {
	hpcg.Refuses(t, map[string]string{
		"-nx 20":                     "multiples of 8, and at least 16",
		"-nz 8":                      "multiples of 8, and at least 16",
		"-nx 160 -ny 16 -nz 16":      "none may be more than 8 times another",
		"-nx 2048 -ny 2048 -nz 1024": "use more ranks",
		"-sets 0":                    "-sets must be at least 1",
		"-time -1s":                  "-time must not be negative",
		"-tasks 0":                   "-tasks must be at least 1",
		"-smoother jacobi":           "-smoother jacobi: want natural, slab, colour",
		"-nx 16 -ny 16 -nz 16 extra": `unexpected argument "extra"`,
	})
}
