// Package agreement runs programs as jobs in the process of a test, and compares all
// bits of what their replicas find.
package agreement

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/intratest"
	intra "github.com/intrahpc/intra/runtime"
)

// Program is what one process does; it returns what it has found, without times.
type Program[R any] func(p *intra.Process) (R, error)

// Run runs a job and returns what the replicas of each rank that finished have found.
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

// Alone returns what each of so many ranks finds without replicas.
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

// Degrees makes sure that replicas find what a rank alone does, with replicas in these
// numbers. Schedules take turns.
func (f Program[R]) Degrees(t *testing.T, degrees ...[]int) {
	t.Helper()
	want := make(map[int][]R)
	for i, d := range degrees {
		if want[len(d)] == nil {
			want[len(d)] = f.Alone(t, len(d))
		}
		policy := []string{"static", "adaptive", "replicate"}[i%3]
		t.Run(fmt.Sprint("degrees ", d, policy), func(t *testing.T) {
			all, _ := f.Run(t, intra.Spec{Degrees: d}, intratest.Sched(policy))
			for rank, n := range d {
				require.Len(t, all[rank], n)
			}
			same(t, want[len(d)], all)
		})
	}
}

// Kills makes sure that the survivors of two ranks with two replicas find it too when a
// replica is killed in one of these places, and nobody comes in its place or somebody
// does.
func (f Program[R]) Kills(t *testing.T, places ...string) {
	t.Helper()
	want := f.Alone(t, 2)
	for _, kill := range places {
		for name, opts := range map[string][]intratest.Option{kill: nil, kill + " replaced": {intratest.Replace()}} {
			t.Run(name, func(t *testing.T) {
				all, report := f.Run(t, intra.Spec{Ranks: 2, Replicas: 2},
					append(opts, intratest.Kills(kill), intratest.Sched("static"), intratest.Capacity(4096))...)
				require.Len(t, report.Deaths, 1)
				require.Len(t, all, 2)
				same(t, want, all)
			})
		}
	}
}

// Checked makes sure that checked mode finds nothing: clauses are right, and all that
// what is computed depends on is registered, or computed again.
func (f Program[R]) Checked(t *testing.T, degrees ...[]int) {
	t.Helper()
	for _, d := range degrees {
		want := f.Alone(t, len(d))
		all, _ := f.Run(t, intra.Spec{Degrees: d, Check: true})
		same(t, want, all)
	}
}

// same compares what each replica has found with what a rank alone finds.
func same[R any](t *testing.T, want []R, all map[int][]R) {
	t.Helper()
	for rank, replicas := range all {
		for _, found := range replicas {
			require.Equal(t, want[rank], found, "rank %d", rank)
		}
	}
}
