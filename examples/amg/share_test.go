//go:build intra

package main

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/jobtest/agreement"
)

// The clauses are right, and all state on which an iteration depends is registered, or
// computed again.
func TestClausesAndStateAreComplete(t *testing.T) {
	for _, m := range methods {
		solve(poisson(cross7, m, 8, 7, 6)).Checked(t, []int{1}, []int{2}, []int{2, 1})
	}
}

// Every survivor has the bits of the run without replicas, for all degrees, schedules and
// deaths.
func TestReplicasAgree(t *testing.T) {
	for _, m := range methods {
		t.Run(m, func(t *testing.T) {
			solve(poisson(cross7, m, 16, 12, 12)).Agree(t, agreement.Cases{
				Degrees:  [][]int{{2}, {3}, {1, 2}, {3, 2}},
				Kills:    []string{"0.1@section:150", "1.0@task:420", "1.1@update:350"},
				Replaced: []string{"0.0@message:200", "1.0@section:290", "0.1@task:30", "1.1@update:690"},
			})
		})
	}
}
