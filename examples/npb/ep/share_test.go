//go:build intra

package main

import "testing"

// Clauses are right, and everything that a round depends on is registered.
func TestClausesAndStateAreComplete(t *testing.T) {
	program.Checked(t, []int{1, 1}, []int{2, 1})
}

// Deaths change no bit.
func TestReplicasAgree(t *testing.T) {
	program.Kills(t, "0.1@task:5", "1.0@update:3", "0.0@section:2")
}
