//go:build intra

package main

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/jobtest/agreement"
)

// small is a problem with a short run.
var small = problem{rows: 128, entries: 4, steps: 4, shift: 10, zeta: 1}

// The clauses are right, and all state on which a step depends is registered.
func TestClausesAndStateAreComplete(t *testing.T) {
	measure(small).Checked(t, []int{1, 1}, []int{2, 1})
}

// Deaths change no bit.
func TestReplicasAgree(t *testing.T) {
	places := []string{"0.1@task:150", "1.0@update:60", "0.0@section:70", "1.1@message:200"}
	measure(small).Agree(t, agreement.Cases{Kills: places, Replaced: places})
}
