//go:build system

package systemtest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/jobtest"
)

// proxies are programs whose results have all bits of what they compute, with how far
// a process of two ranks counts at the points at which it may be killed.
var proxies = []struct {
	name, folder string
	args         []string
	points       map[string]int
	safe         int // a section after the first backup
	long         bool
}{
	{"miniGhost", "examples/minighost", strings.Fields("-stencil 3d27 -nx 32 -ny 24 -nz 16 -vars 3 -steps 20"), map[string]int{"section": 110, "task": 400, "update": 400, "message": 70}, 60, false},
	{"AMG", "examples/amg", strings.Fields("-problem 7pt -nx 16 -ny 16 -nz 16"), map[string]int{"section": 400, "task": 1000, "update": 1000, "message": 400}, 420, false},
	{"AMG, GMRES", "examples/amg", strings.Fields("-problem 27pt -solver gmres -nx 16 -ny 16 -nz 16"), map[string]int{"section": 400, "task": 1000, "update": 1000, "message": 400}, 420, true},
}

// Proxies have the bits of a run without replicas with every degree, link and schedule,
// whoever dies where, and whether somebody comes in its place. Links and schedules take
// turns; with INTRA_MATRIX set all combinations run, and GMRES too.
func TestProxies(t *testing.T) {
	all := os.Getenv("INTRA_MATRIX") != ""
	for _, x := range proxies {
		if x.long && !all {
			continue
		}
		program := binaries.Program(t, x.folder)
		run := func(t *testing.T, program, flags string) (string, *jobtest.Report) {
			t.Helper()
			r := jobtest.Run(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags), Program: append([]string{program, "-json"}, x.args...)})
			require.Zero(t, r.Code, "%s\n%s", flags, r.Stderr)
			var out map[string]any
			require.NoError(t, json.Unmarshal([]byte(r.Stdout), &out), r.Stdout)
			delete(out, "seconds")
			delete(out, "times")
			return fmt.Sprint(out), r.Summary(t)
		}
		want := make(map[int]string) // by ranks
		for _, ranks := range []int{1, 2, 4} {
			want[ranks], _ = run(t, binaries.Plain(t, x.folder), fmt.Sprintf("-n %d -r 1", ranks))
		}
		policies := []string{"static", "adaptive", "replicate"}
		for i, c := range []struct {
			ranks   int
			degrees string
		}{
			{1, "-r 1"}, {1, "-r 2"}, {1, "-r 3"},
			{2, "-n 2 -r 1"}, {2, "-n 2 -r 2"}, {2, "-n 2 -r 3"}, {2, "-degrees 1,2"}, {2, "-degrees 3,1"},
			{4, "-degrees 2,1,3,2"},
		} {
			for j, link := range []string{"shm", "tcp"} {
				for k, policy := range policies {
					if !all && (j != i%2 || k != i/2%len(policies)) {
						continue
					}
					flags := fmt.Sprintf("%s -link %s -sched %s", c.degrees, link, policy)
					t.Run(x.name+" "+flags, func(t *testing.T) {
						got, _ := run(t, program, flags)
						require.Equal(t, want[c.ranks], got)
					})
				}
			}
		}
		rng, kills := rand.New(rand.NewPCG(20, 2016)), 4
		if all {
			kills = 32
		}
		for i := range kills {
			point := []string{"section", "task", "update", "message"}[i%4]
			link := []string{"shm", "tcp", "unix", "shm -ring 4096", "shm -threads 2"}[i%5]
			flags := fmt.Sprintf("-n 2 -r 2 -sched static -link %s -kill %d.%d@%s:%d", link, rng.IntN(2), rng.IntN(2), point, rng.IntN(x.points[point]))
			if i/4%2 != i%2 {
				flags += " -replace"
			}
			t.Run(x.name+" "+flags, func(t *testing.T) {
				got, report := run(t, program, flags)
				require.Equal(t, want[2], got)
				require.Len(t, report.Failures, 1)
				report.RequireFired(t)
			})
		}
		for _, flags := range []string{
			fmt.Sprintf("-n 2 -r 2 -direct -kill 0.1@section:20 -kill 1.0@section:%d", x.safe),
			fmt.Sprintf("-n 2 -r 1 -spares 1 -backup 2 -kill 1.0@section:%d", x.safe),
			fmt.Sprintf("-degrees 2,1 -replace -backup 2 -kill 1.0@section:%d", x.safe),
		} {
			t.Run(x.name+" "+flags, func(t *testing.T) {
				got, report := run(t, program, flags)
				require.Equal(t, want[2], got)
				report.RequireFired(t)
			})
		}
	}
}
