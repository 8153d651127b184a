//go:build intra

package main

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/jobtest/agreement"
)

// small is a problem with a short run.
var small = problem{log: 5, iterations: 3, smoother: forSmall, norm: 1}

// The clauses are right, and all state on which an iteration depends is registered.
func TestClausesAndStateAreComplete(t *testing.T) {
	of := small
	of.iterations = 2
	measure(of).Checked(t, []int{1}, []int{2})
}

// Deaths change no bit.
func TestReplicasAgree(t *testing.T) {
	places := []string{"0.1@task:30", "1.0@update:20", "0.0@section:40", "1.1@message:100"}
	measure(small).Agree(t, agreement.Cases{Kills: places, Replaced: places})
}
