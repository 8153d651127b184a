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

var lu = jobtest.Program{Binaries: &binaries, Folder: "examples/lu", Args: "-n 120 -repeat 2", Times: "seconds",
	Check: func(t testing.TB, line []byte) {
		var r result
		require.NoError(t, json.Unmarshal(line, &r))
		require.True(t, r.Verified)
		require.Positive(t, float64(r.Seconds))
	}}

// Neither the degree nor a death changes a bit of the factors of the plain program.
func TestKills(t *testing.T) {
	lu.Same(t, jobtest.Some([]jobtest.Case{
		{Flags: "-r 1"},
		{Flags: "-r 2 -direct", Kills: "0.1@section:101"},
		{Flags: "-r 2 -sched static", Args: "-ordinary", Kills: "0.0@update:300"},
		{Flags: "-r 3 -link tcp -sched static", Kills: "0.0@task:33 0.2@update:200"},
		{Flags: "-r 2 -replace", Kills: "0.1@section:100"},
	}, 0, 1, 2, 4)...)
}

func TestOutput(t *testing.T) {
	lu.Prints(t, "-n 50", "verified: 50 × 50 elements, largest error of the solution ", "MFLOP/s")
}

func TestBadFlags(t *testing.T) {
	lu.Refuses(t, map[string]string{
		"-n 0":      "-n must be 1 to 32768",
		"-repeat 0": "-repeat must be at least 1",
		"-tasks 0":  "-tasks must be at least 1",
	})
}
