//go:build intra

package main

import "testing"

// Clauses are right, and everything that an iteration depends on is registered, or
// computed again.
func TestClausesAndStateAreComplete(t *testing.T) {
	for _, m := range methods {
		solve(poisson(cross7, m, 8, 7, 6)).Checked(t, []int{1}, []int{2}, []int{2, 1})
	}
}

// Whatever the degrees, schedules and deaths, every survivor has the bits of the
// run without replicas.
func TestReplicasAgree(t *testing.T) {
	for _, m := range methods {
		t.Run(m, func(t *testing.T) {
			program := solve(poisson(cross7, m, 16, 12, 12))
			program.Degrees(t, []int{2}, []int{3}, []int{1, 2}, []int{3, 2})
			program.Kills(t, "0.1@section:150", "1.0@task:420", "1.1@update:350", "0.0@message:200")
		})
	}
}
