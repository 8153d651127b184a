//go:build intra

package main

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/intratest"
)

// Every survivor has the bits of the run without replicas, for all degrees, links and
// deaths.
func TestReplicasAgree(t *testing.T) {
	for _, fused := range []bool{false, true} {
		t.Run(fmt.Sprint("fused ", fused), func(t *testing.T) {
			testReplicasAgree(t, settings{nx: 6, ny: 5, nz: 4, iters: 12, tasks: 16, fused: fused})
		})
	}
}

func testReplicasAgree(t *testing.T, set settings) {
	serial := map[int]map[int][]outcome{}
	for ranks := 1; ranks <= 3; ranks++ {
		serial[ranks], _ = solveOn(t, intra.Spec{Ranks: ranks}, set)
	}
	check := func(t *testing.T, ranks int, all map[int][]outcome) {
		for rank := range ranks {
			require.NotEmpty(t, all[rank])
			for _, o := range all[rank] {
				require.Equal(t, serial[ranks][rank][0], o)
			}
		}
	}
	for _, degrees := range [][]int{{2}, {3}, {2, 2}, {1, 2, 3}, {2, 1, 2}} {
		t.Run(fmt.Sprint("degrees ", degrees), func(t *testing.T) {
			all, _ := solveOn(t, intra.Spec{Degrees: degrees}, set)
			check(t, len(degrees), all)
		})
	}
	points := []string{"section", "task", "update", "message"}
	rng := rand.New(rand.NewPCG(2, 15))
	for range jobtest.Count(30, 60) {
		ranks := 1 + rng.IntN(3)
		point := points[rng.IntN(3+min(ranks-1, 1))]
		most := map[string]int{"section": 40, "task": 300, "update": 300, "message": 20}[point]
		kill := fmt.Sprintf("%d.%d@%s:%d", rng.IntN(ranks), rng.IntN(2), point, rng.IntN(most))
		t.Run(fmt.Sprint(ranks, " ", kill), func(t *testing.T) {
			all, report := solveOn(t, intra.Spec{Ranks: ranks, Replicas: 2}, set,
				intratest.Kills(kill), intratest.Sched("static"), intratest.Capacity(100))
			require.Len(t, report.Deaths, 1)
			check(t, ranks, all)
		})
	}
}

// All state on which a pass depends is registered, or computed again.
func TestStateIsComplete(t *testing.T) {
	for _, c := range []struct {
		fused   bool
		degrees []int
	}{{false, []int{1}}, {false, []int{2, 1}}, {true, []int{2, 1}}} {
		set := settings{nx: 5, ny: 4, nz: 3, iters: 12, tasks: 4, fused: c.fused}
		degrees := c.degrees
		serial, _ := solveOn(t, intra.Spec{Ranks: len(degrees)}, set)
		checked, _ := solveOn(t, intra.Spec{Degrees: degrees, Check: true}, set)
		for rank := range degrees {
			require.Equal(t, serial[rank][0], checked[rank][0])
		}
	}
}
