//go:build intra

package main

import "testing"

// Clauses are right, and everything that an iteration depends on is registered, or
// computed again.
func TestClausesAndStateAreComplete(t *testing.T) {
	for _, how := range []smoother{slab, colour} {
		set := cube(16, how)
		set.sets = 2
		measure(set).Checked(t, []int{1}, []int{2})
	}
}

// Whatever the degrees, schedules and deaths, every survivor has the bits of the
// run without replicas.
func TestReplicasAgree(t *testing.T) {
	program := measure(cube(16, slab))
	program.Degrees(t, []int{2}, []int{3}, []int{1, 2}, []int{3, 2})
	program.Kills(t, "0.1@section:400", "1.0@task:3000", "0.0@update:1200", "1.1@message:500")
}
