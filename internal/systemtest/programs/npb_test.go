//go:build system

package programs

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/jobtest"
)

// Class W of the NAS Parallel Benchmarks is verified, shared while a replica dies;
// with INTRA_MATRIX (`make matrix`) also alone, and class A.
func TestNPB(t *testing.T) {
	for name, kill := range map[string]string{
		"ep": "0.1@section:9", "cg": "0.1@section:200", "is": "0.1@section:11", "mg": "0.1@section:60", "ft": "0.1@section:7",
		"bt": "0.1@section:200", "sp": "0.1@section:200",
	} {
		program := binaries.Program(t, "examples/npb/"+name)
		type run struct{ class, flags string }
		runs := []run{{"W", "-n 1 -r 2 -kill " + kill}}
		if os.Getenv("INTRA_MATRIX") != "" {
			runs = append(runs, run{"W", "-n 1 -r 1"}, run{"W", "-n 2 -r 2 -sched static"}, run{"A", "-n 1 -r 2 -kill " + kill})
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
