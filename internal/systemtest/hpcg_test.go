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

// hpcgRun runs HPCG on 16³ points per rank and returns all the bits that it prints.
func hpcgRun(t *testing.T, program, flags, smoother string) (string, *jobtest.Report) {
	t.Helper()
	r := jobtest.Run(t, jobtest.Spec{
		Intrarun: binaries.Intrarun(t),
		Flags:    strings.Fields(flags),
		Program:  []string{program, "-nx", "16", "-ny", "16", "-nz", "16", "-json", "-smoother", smoother},
	})
	require.Zero(t, r.Code, "%s\n%s", flags, r.Stderr)
	var out struct {
		R0       json.Number    `json:"r0"`
		Goal     json.Number    `json:"goal"`
		History  []json.Number  `json:"history"`
		Residual json.Number    `json:"residual"`
		XSHA256  string         `json:"x_sha256"`
		Spectral [2]int         `json:"spectral"`
		Symmetry [2]json.Number `json:"symmetry"`
		Valid    bool           `json:"valid"`
	}
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &out), r.Stdout)
	require.True(t, out.Valid, r.Stderr)
	require.Len(t, out.History, 51)
	return fmt.Sprint(out), r.Summary(t)
}

// HPCG has the bits of a run without replicas with every degree, link, schedule and
// smoother, whoever dies where, and whether somebody comes in its place. Links and
// schedules take turns, and slabs, which shared runs use, have more cases; with
// INTRA_MATRIX (`make matrix`) all combinations run.
func TestHPCG(t *testing.T) {
	all := os.Getenv("INTRA_MATRIX") != ""
	const folder = "examples/hpcg"
	program, plain := binaries.Program(t, folder), binaries.Plain(t, folder)
	rng := rand.New(rand.NewPCG(20, 31))
	for _, smoother := range []string{"natural", "slab", "colour"} {
		want := make(map[int]string) // by ranks
		for _, ranks := range []int{1, 2, 4} {
			want[ranks], _ = hpcgRun(t, plain, fmt.Sprintf("-n %d -r 1", ranks), smoother)
		}
		policies, kills := []string{"static", "adaptive", "replicate"}, 4
		if all || smoother == "slab" {
			kills *= 2
		}
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
					if !all && (k != (i+j)%len(policies) || smoother != "slab" && j != i%2) {
						continue
					}
					flags := fmt.Sprintf("%s -link %s -sched %s", c.degrees, link, policy)
					t.Run(smoother+" "+flags, func(t *testing.T) {
						got, _ := hpcgRun(t, program, flags, smoother)
						require.Equal(t, want[c.ranks], got)
					})
				}
			}
		}
		for i := range kills {
			point := []string{"section", "task", "update", "message"}[i%4]
			most := map[string]int{"section": 3000, "task": 4500, "update": 4500, "message": 800}[point]
			link := []string{"shm", "tcp", "unix", "shm -ring 4096", "shm -threads 2"}[i%5]
			flags := fmt.Sprintf("-n 2 -r 2 -sched static -link %s -kill %d.%d@%s:%d", link, rng.IntN(2), rng.IntN(2), point, rng.IntN(most))
			if i%8 >= 4 {
				flags += " -replace"
			}
			t.Run(smoother+" "+flags, func(t *testing.T) {
				got, report := hpcgRun(t, program, flags, smoother)
				require.Equal(t, want[2], got)
				require.Len(t, report.Failures, 1)
				report.RequireFired(t)
			})
		}
		for _, flags := range []string{
			"-n 2 -r 2 -direct", "-n 2 -r 2 -direct -kill 0.1@section:700 -kill 1.0@task:900",
			"-n 2 -r 1 -spares 1 -backup 20 -kill 1.0@section:2000",
			"-degrees 2,1 -replace -backup 20 -kill 1.0@section:2000",
		} {
			t.Run(smoother+" "+flags, func(t *testing.T) {
				got, report := hpcgRun(t, program, flags, smoother)
				require.Equal(t, want[2], got)
				report.RequireFired(t)
			})
		}
	}
}
