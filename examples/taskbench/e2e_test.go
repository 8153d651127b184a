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
// signals. They build the programs themselves, with and without the tag.

// binaries are the programs that the tests have built.
var binaries jobtest.Binaries

func TestMain(m *testing.M) { os.Exit(binaries.Main(m)) }

var bench = jobtest.Program{Binaries: &binaries, Folder: "examples/taskbench", Args: "-width 11 -steps 60 -iters 5", Times: "seconds us_task flops",
	Check: func(t testing.TB, line []byte) {
		var r result
		require.NoError(t, json.Unmarshal(line, &r))
		require.Positive(t, r.Task)
		require.Positive(t, r.Flops)
	}}

// Neither the degree nor a death changes a bit of the plain program's values.
func TestKills(t *testing.T) {
	bench.Same(t, jobtest.Some([]jobtest.Case{
		{Args: "-pattern trivial", Flags: "-r 2 -direct", Kills: "0.1@section:20"},
		{Args: "-pattern stencil_1d", Flags: "-n 2 -r 2 -sched static", Kills: "1.0@update:60"},
		{Args: "-pattern fft", Flags: "-n 2 -r 2 -link tcp", Kills: "0.0@message:20"},
		{Args: "-pattern tree", Flags: "-n 3 -r 2 -replace", Kills: "2.1@section:30"},
		{Args: "-pattern random_nearest", Flags: "-n 2 -r 1 -spares 1 -backup 5", Kills: "1.0@section:30"},
	}, 1, 3, 4)...)
}

func TestOutput(t *testing.T) {
	bench.Prints(t, "-pattern tree -steps 10", "tree of 16 × 10 points, 111 tasks, x ", " µs a task of a rank, ", "MFLOP/s")
}

func TestBadFlags(t *testing.T) {
	bench.Refuses(t, map[string]string{
		"-pattern dom": "-pattern dom: want trivial, stencil_1d, fft, tree, random_nearest",
		"-width 0":     "-width and -steps must be at least 1",
		"-iters -1":    "-iters must not be negative",
		"-radix 0":     "-radix must be at least 1",
		"-fraction 2":  "-fraction must be 0 to 1",
	})
}
