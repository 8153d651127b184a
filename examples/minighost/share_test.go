//go:build intra

package main

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/jobtest/agreement"
)

// The clauses are right, and all state on which a step depends is registered, or computed
// again.
func TestClausesAndStateAreComplete(t *testing.T) {
	for s := range stencils {
		set := small(stencil(s), method(s%2), 9, 8, 7)
		set.steps = 4
		simulate(set).Checked(t, []int{1}, []int{2}, []int{2, 1})
	}
}

// Every survivor has the bits of the run without replicas, for all degrees, schedules and
// deaths.
func TestReplicasAgree(t *testing.T) {
	simulate(small(cube27, bspma, 24, 20, 18)).Agree(t, agreement.Cases{
		Degrees:  [][]int{{2}, {3}, {1, 2}, {3, 2}},
		Kills:    []string{"0.1@section:7", "0.0@task:20", "1.1@update:100", "1.0@message:5", "1.0@section:85", "0.1@task:180", "0.0@update:40", "1.1@message:45"},
		Replaced: []string{"1.0@section:60", "0.1@task:230", "0.0@update:240", "0.1@message:60", "0.0@section:30", "1.1@task:120", "1.0@update:3", "0.0@message:20"},
	})
}
