//go:build intra

package main

import "testing"

// Clauses are right, and everything that a step depends on is registered, or
// computed again.
func TestClausesAndStateAreComplete(t *testing.T) {
	for s := range stencils {
		set := small(stencil(s), method(s%2), 9, 8, 7)
		set.steps = 4
		simulate(set).Checked(t, []int{1}, []int{2}, []int{2, 1})
	}
}

// Whatever the degrees, schedules and deaths, every survivor has the bits of the
// run without replicas.
func TestReplicasAgree(t *testing.T) {
	program := simulate(small(cube27, bspma, 24, 20, 18))
	program.Degrees(t, []int{2}, []int{3}, []int{1, 2}, []int{3, 2})
	program.Kills(t, "0.1@section:7", "0.0@task:20", "1.1@update:100", "1.0@message:5",
		"1.0@section:60", "0.1@task:230", "0.0@update:240", "0.1@message:60")
}
