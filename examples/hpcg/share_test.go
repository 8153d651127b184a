//go:build intra

package main

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/jobtest/agreement"
)

// The clauses are right, and all state on which an iteration depends is registered, or
// computed again. `make matrix` (INTRA_MATRIX=1) checks 16 × 16 × 16 points.
func TestClausesAndStateAreComplete(t *testing.T) {
	size := jobtest.Count(8, 16) // with 16 × 16 × 16 points the checks take 20 seconds
	for _, how := range []smoother{slab, colour} {
		set := cube(size, how)
		set.sets = 2
		measure(set).Checked(t, []int{1}, []int{2})
	}
}

// Every survivor has the bits of the run without replicas, for all degrees, schedules and
// deaths.
func TestReplicasAgree(t *testing.T) {
	measure(cube(16, slab)).Agree(t, agreement.Cases{
		Degrees:  jobtest.Some([][]int{{2}, {3}, {1, 2}, {3, 2}}, 0, 3),
		Kills:    []string{"0.1@section:400", "1.0@task:3000", "0.0@update:1200", "1.1@message:500"},
		Replaced: []string{"1.0@section:2900", "0.1@task:150", "1.1@update:4100"},
	})
}
