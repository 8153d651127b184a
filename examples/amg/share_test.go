//go:build intra

package main

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/intratest"
	intra "github.com/intrahpc/intra/runtime"
)

// Whatever the degrees, schedules and deaths, every survivor has the bits of the
// run without replicas.
func TestReplicasAgree(t *testing.T) {
	for _, m := range methods {
		set := poisson(cross7, m, 16, 12, 12)
		want := map[int]*result{}
		for ranks := 1; ranks <= 2; ranks++ {
			all, _ := runAll(t, intra.Spec{Ranks: ranks}, set)
			want[ranks] = all[0]
		}
		check := func(t *testing.T, ranks int, all []*result) {
			require.NotEmpty(t, all)
			for _, r := range all {
				requireSame(t, want[ranks], r)
			}
		}
		for i, degrees := range [][]int{{2}, {3}, {1, 2}, {3, 2}} {
			policy := []string{"static", "adaptive", "replicate"}[i%3]
			t.Run(fmt.Sprint(m, " degrees ", degrees, policy), func(t *testing.T) {
				all, _ := runAll(t, intra.Spec{Degrees: degrees}, set, intratest.Sched(policy))
				require.Len(t, all, degrees[0])
				check(t, len(degrees), all)
			})
		}
		rng := rand.New(rand.NewPCG(20, 2013))
		for i, point := range []string{"section", "task", "update", "message", "section", "task", "update"} {
			most := map[string]int{"section": 300, "task": 700, "update": 700, "message": 300}[point]
			kill := fmt.Sprintf("%d.%d@%s:%d", rng.IntN(2), rng.IntN(2), point, rng.IntN(most))
			opts := []intratest.Option{intratest.Kills(kill), intratest.Sched("static"), intratest.Capacity(4096)}
			if i >= 3 {
				opts = append(opts, intratest.Replace())
			}
			t.Run(m+" "+kill, func(t *testing.T) {
				all, report := runAll(t, intra.Spec{Ranks: 2, Replicas: 2}, set, opts...)
				require.Len(t, report.Deaths, 1)
				check(t, 2, all)
			})
		}
	}
}

// requireSame compares all bits of two results.
func requireSame(t *testing.T, want, got *result) {
	t.Helper()
	strip := func(r result) result {
		r.Times, r.Seconds = seconds{}, 0
		return r
	}
	require.Equal(t, strip(*want), strip(*got))
}

// Clauses are right, and everything that an iteration depends on is registered, or
// computed again.
func TestClausesAndStateAreComplete(t *testing.T) {
	for _, m := range methods {
		set := poisson(cross7, m, 8, 7, 6)
		for _, degrees := range [][]int{{1}, {2}, {2, 1}} {
			plain, _ := runAll(t, intra.Spec{Ranks: len(degrees)}, set)
			checked, _ := runAll(t, intra.Spec{Degrees: degrees, Check: true}, set)
			requireSame(t, plain[0], checked[0])
		}
	}
}
