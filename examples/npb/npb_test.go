//go:build !intra

package npb

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// The tests in this file start real processes through intrarun, and kill them with real
// signals. They build the programs themselves, with and without the tag.

// binaries are the programs that the tests have built.
var binaries jobtest.Binaries

func TestMain(m *testing.M) { os.Exit(binaries.Main(m)) }

// programs are the benchmarks. The fields are the output fields of each, the points of a
// job of two ranks at which something may die, and whether the program accepts any number
// of ranks.
var programs = []struct {
	name, fields string
	kills        [6]string // for degrees 2, 3, 2 with messages, mixed, 2 with replacements, 1
	anyRanks     bool
}{
	{"ep", "sx sy counts pairs", [6]string{"0.1@section:5", "0.0@task:33 1.2@update:20", "1.0@message:1", "0.1@section:6", "0.1@section:2 1.0@section:5", "1.0@section:6"}, true},
	{"cg", "zeta rnorm", [6]string{"0.1@section:200", "0.0@task:1333 1.2@update:2000", "1.0@message:300", "0.1@section:100", "0.1@section:90 1.0@section:250", "1.0@section:300"}, false},
	{"is", "passed", [6]string{"0.1@section:9", "0.0@task:133 1.2@update:200", "1.0@message:20", "0.1@section:10", "0.1@section:8 1.0@section:15", "1.0@section:16"}, false},
	{"mg", "rnm2", [6]string{"0.1@section:60", "0.0@task:60 1.2@update:12", "1.0@message:100", "0.1@section:50", "0.1@section:40 1.0@section:60", "1.0@section:75"}, false},
	{"ft", "checksums", [6]string{"0.1@section:7", "0.0@task:33 1.2@update:60", "1.0@message:5", "0.1@section:8", "0.1@section:7 1.0@section:11", "1.0@section:16"}, false},
	{"bt", "residual error", [6]string{"0.1@section:120", "0.0@task:300 1.2@update:400", "1.0@message:100", "0.1@section:100", "0.1@section:90 1.0@section:150", "1.0@section:200"}, true},
	{"sp", "residual error", [6]string{"0.1@section:120", "0.0@task:300 1.2@update:400", "1.0@message:100", "0.1@section:100", "0.1@section:90 1.0@section:150", "1.0@section:200"}, true},
}

// some are the programs that run by default, of those that accept any number of ranks and
// those that do not. The other programs run without processes, in the tests of their folders.
var some = []int{1, 5}

// program returns a benchmark whose output has these fields.
func program(name, fields string) *jobtest.Program {
	return &jobtest.Program{Binaries: &binaries, Folder: "examples/npb/" + name, Times: "seconds mops",
		Check: func(t testing.TB, line []byte) {
			var r map[string]any
			require.NoError(t, json.Unmarshal(line, &r))
			require.Equal(t, true, r["verified"], string(line))
			for _, field := range strings.Fields("benchmark class ranks tasks " + fields) {
				require.Contains(t, r, field)
			}
		}}
}

// Class S is verified, and has the bits of a run without replicas. This holds for all
// degrees, links and schedules, whichever processes die, and whether they are replaced or
// not. By default only some programs run, each in one of these ways; with INTRA_MATRIX all
// run in all ways.
func TestKills(t *testing.T) {
	for turn, x := range jobtest.Some(programs, some...) {
		t.Run(x.name, func(t *testing.T) {
			p := program(x.name, x.fields)
			for i, flags := range []string{
				"-n 2 -r 2 -sched static",
				"-n 2 -r 3 -sched static -link tcp",
				"-n 2 -r 2 -sched adaptive -link tcp",
				"-degrees 2,1 -direct",
				"-n 2 -r 2 -replace",
				"-n 2 -r 1 -spares 1 -backup 2",
			} {
				if i == 2+2*turn || jobtest.Matrix() {
					p.Same(t, jobtest.Case{Flags: flags, Kills: x.kills[i]})
				}
			}
		})
	}
}

// A program that runs without replicas and without intrarun prints its result as text, and refuses
// wrong flags. By default only the programs of TestKills run; with INTRA_MATRIX all do.
func TestOutput(t *testing.T) {
	for _, x := range jobtest.Some(programs, some...) {
		p, title := program(x.name, x.fields), strings.ToUpper(x.name)
		p.Prints(t, "", title+" Benchmark Completed. Class = S ", " Mop/s total = ", " Verification = SUCCESSFUL")
		p.Refuses(t, map[string]string{
			"-class D": `-class: class "D": want S, W, A, B or C`,
			"-tasks 0": "-tasks must be at least 1",
			"extra":    `unexpected argument "extra"`,
		})
		job := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: []string{"-n", "3", "-r", "1"}, Program: []string{binaries.Plain(t, p.Folder)}})
		if x.anyRanks {
			require.Zero(t, job.Code, job.Stderr)
			continue
		}
		require.Equal(t, 1, job.Code)
		require.Contains(t, job.Stderr, fmt.Sprintf("3 ranks do not fit: class S of %s runs on a power of two", title))
	}
}
