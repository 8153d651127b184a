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

var minighost = jobtest.Program{Binaries: &binaries, Folder: "examples/minighost",
	Args: "-nx 32 -ny 24 -nz 16 -vars 3 -steps 20", Times: "seconds times",
	Check: func(t testing.TB, line []byte) {
		var r result
		require.NoError(t, json.Unmarshal(line, &r))
		require.Len(t, r.Sums, 3)
		require.True(t, r.Verified)
		require.Less(t, float64(r.Error), 1e-12)
		require.Positive(t, r.Seconds)
	}}

// The test combines degrees, links, schedules and kinds of messages in turn with the
// stencils.
func TestEveryStencil(t *testing.T) {
	minighost.Same(t, jobtest.Some([]jobtest.Case{
		{Args: "-stencil 2d5 -comm bspma", Flags: "-r 2 -link shm -sched static"},
		{Args: "-stencil 2d5 -comm bspma", Flags: "-degrees 1,2 -link shm"},
		{Args: "-stencil 2d9 -comm svaf", Flags: "-r 3 -link tcp -sched adaptive"},
		{Args: "-stencil 2d9 -comm svaf", Flags: "-n 2 -r 3 -link tcp"},
		{Args: "-stencil 3d7 -comm bspma", Flags: "-r 1 -link shm -sched replicate"},
		{Args: "-stencil 3d7 -comm bspma", Flags: "-degrees 3,1 -sched static"},
		{Args: "-stencil 3d27 -comm svaf", Flags: "-r 2 -link tcp -sched static"},
		{Args: "-stencil 3d27 -comm svaf", Flags: "-n 2 -r 2 -direct"},
	}, 3, 5)...)
}

// Some real processes die and are recovered, and the result does not change. Package
// internal/testkit/systemtest has many more cases.
func TestKills(t *testing.T) {
	const args = "-stencil 3d27"
	minighost.Same(t, []jobtest.Case{
		{Args: args, Flags: "-r 3 -sched static -link tcp", Kills: "0.0@task:33 0.2@update:200"},
		{Args: args, Flags: "-r 2 -direct", Kills: "0.0@section:40"},
		{Args: args, Flags: "-n 2 -r 2 -link tcp", Kills: "1.0@message:60"},
		{Args: args, Flags: "-n 2 -r 2 -replace", Kills: "0.1@section:40 1.0@section:90"},
		{Args: args, Flags: "-n 2 -r 1 -spares 1 -backup 5", Kills: "1.0@section:70"},
	}...)
}

// A run without -json prints text for people.
func TestOutput(t *testing.T) {
	minighost.Prints(t, "-nx 16 -ny 16 -nz 16 -steps 20",
		"miniGhost, 2d5 stencil, 5 variables on 16 × 16 × 16 points for each of 1 × 1 × 1 ranks, bspma",
		"step 20 variable 1: sum ",
		"verified: 5 variables, largest error of a sum ",
		"stencil")
}

func TestBadFlags(t *testing.T) {
	minighost.Refuses(t, map[string]string{
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
	})
}
