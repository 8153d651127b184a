// Package agreement runs programs as jobs in the process of a test, and compares all
// bits of the results of their replicas.
package agreement

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/intratest"
)

// Program is the function of one process. Its result must not contain times.
type Program[R any] func(p *intra.Process) (R, error)

// Run runs a job and returns the results of the replicas of each rank that finished.
func (f Program[R]) Run(t *testing.T, spec intra.Spec, opts ...intratest.Option) (map[int][]R, intratest.Report) {
	t.Helper()
	var mu sync.Mutex
	all := make(map[int][]R)
	report := intratest.Run(t, spec, func(p *intra.Process) error {
		r, err := f(p)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		all[p.Rank()] = append(all[p.Rank()], r)
		return nil
	}, opts...)
	return all, report
}

// Alone returns the result of each of that many ranks without replicas.
func (f Program[R]) Alone(t *testing.T, ranks int) []R {
	t.Helper()
	all, _ := f.Run(t, intra.Spec{Ranks: ranks})
	found := make([]R, ranks)
	for rank := range found {
		require.Len(t, all[rank], 1)
		found[rank] = all[rank][0]
	}
	return found
}

// Cases are ways to run a job that must not change its results.
type Cases struct {
	Degrees  [][]int  // replicas of each rank; consecutive cases use different schedules
	Kills    []string // kills of a replica, in a job of two ranks with two replicas each
	Replaced []string // like Kills, but another process replaces the replica
}

// Agree checks that replicas have the results of a rank without replicas.
func (f Program[R]) Agree(t *testing.T, c Cases) {
	t.Helper()
	alone := make(map[int][]R) // by the number of ranks
	check := func(t *testing.T, spec intra.Spec, ranks int, opts ...intratest.Option) (map[int][]R, intratest.Report) {
		t.Helper()
		if alone[ranks] == nil {
			alone[ranks] = f.Alone(t, ranks)
		}
		all, report := f.Run(t, spec, opts...)
		require.Len(t, all, ranks)
		same(t, alone[ranks], all)
		return all, report
	}
	for i, d := range c.Degrees {
		policy := []string{"static", "adaptive", "replicate"}[i%3]
		t.Run(fmt.Sprint("degrees ", d, policy), func(t *testing.T) {
			all, _ := check(t, intra.Spec{Degrees: d}, len(d), intratest.Sched(policy))
			for rank, n := range d {
				require.Len(t, all[rank], n)
			}
		})
	}
	for i, kill := range slices.Concat(c.Kills, c.Replaced) {
		opts := []intratest.Option{intratest.Kills(kill), intratest.Sched("static"), intratest.Capacity(4096)}
		if i >= len(c.Kills) {
			kill, opts = kill+" replaced", append(opts, intratest.Replace())
		}
		t.Run(kill, func(t *testing.T) {
			_, report := check(t, intra.Spec{Ranks: 2, Replicas: 2}, 2, opts...)
			require.Len(t, report.Deaths, 1)
		})
	}
}

// Checked requires that checked mode reports no finding: all clauses are right, and all
// data that results depend on is registered or computed again.
func (f Program[R]) Checked(t *testing.T, degrees ...[]int) {
	t.Helper()
	for _, d := range degrees {
		want := f.Alone(t, len(d))
		all, _ := f.Run(t, intra.Spec{Degrees: d, Check: true})
		same(t, want, all)
	}
}

// same compares the result of each replica with that of a rank without replicas.
func same[R any](t *testing.T, want []R, all map[int][]R) {
	t.Helper()
	for rank, replicas := range all {
		for _, found := range replicas {
			require.Equal(t, want[rank], found, "rank %d", rank)
		}
	}
}
