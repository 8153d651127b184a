//go:build intra

package main

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/jobtest/agreement"
)

// The clauses are right, and all state on which a round depends is registered.
func TestClausesAndStateAreComplete(t *testing.T) {
	measure.Checked(t, []int{1, 1}, []int{2, 1})
}

// Deaths change no bit.
func TestReplicasAgree(t *testing.T) {
	places := []string{"0.1@task:5", "1.0@update:3", "0.0@section:2"}
	measure.Agree(t, agreement.Cases{Kills: places, Replaced: places})
}
