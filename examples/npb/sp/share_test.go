//go:build intra

package main

import (
	"testing"

	"github.com/intrahpc/intra/examples/npb/internal/flow"
	"github.com/intrahpc/intra/internal/testkit/jobtest/agreement"
)

// small is a problem with a short run; its norms are not known.
var small = flow.Problem{Points: 8, Steps: 3, Dt: 0.01}

// The clauses are right, and all state on which a step depends is registered.
func TestClausesAndStateAreComplete(t *testing.T) {
	measure(small).Checked(t, []int{1, 1}, []int{2, 1})
}

// Deaths change no bit.
func TestReplicasAgree(t *testing.T) {
	places := []string{"0.1@task:12", "1.0@update:8", "0.0@section:9", "1.1@message:3"}
	measure(small).Agree(t, agreement.Cases{Kills: places, Replaced: places})
}
