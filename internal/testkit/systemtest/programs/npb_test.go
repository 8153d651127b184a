//go:build system

package programs

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// Class W of one NAS Parallel Benchmark is verified, with a section shared while a replica
// dies. With INTRA_MATRIX (`make matrix`) class W of all benchmarks is verified, with and
// without replicas, and class A. Package examples/npb tests class S of each.
func TestNPB(t *testing.T) {
	matrix := jobtest.Matrix()
	for name, of := range map[string]struct{ class, kill string }{
		"ep": {"W", "0.1@section:9"}, "cg": {"W", "0.1@section:200"}, "is": {"W", "0.1@section:11"},
		"mg": {"W", "0.1@section:60"}, "ft": {"W", "0.1@section:7"},
		"bt": {"W", "0.1@section:150"}, "sp": {"W", "0.1@section:250"},
	} {
		if name != "is" && !matrix {
			continue
		}
		program := binaries.Program(t, "examples/npb/"+name)
		type run struct{ class, flags string }
		runs := []run{{of.class, "-n 1 -r 2 -kill " + of.kill}}
		if matrix {
			runs = []run{{"W", "-n 1 -r 2 -kill " + of.kill}, {"W", "-n 1 -r 1"}, {"W", "-n 2 -r 2 -sched static"}, {"A", "-n 1 -r 2 -kill " + of.kill}}
		}
		for _, c := range runs {
			t.Run(fmt.Sprint(name, " ", c.class, " ", c.flags), func(t *testing.T) {
				r := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(c.flags),
					Deadline: 5 * time.Minute, Program: []string{program, "-json", "-class", c.class}})
				require.Zero(t, r.Code, r.Stderr)
				var out struct {
					Class    string `json:"class"`
					Verified bool   `json:"verified"`
				}
				require.NoError(t, json.Unmarshal([]byte(r.Stdout), &out), r.Stdout)
				require.Equal(t, c.class, out.Class)
				require.True(t, out.Verified, r.Stdout)
				r.Summary(t).RequireFired(t)
			})
		}
	}
}
