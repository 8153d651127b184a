//go:build intra

package main

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/jobtest/agreement"
)

// The clauses are right, and all state on which an iteration depends is registered.
func TestClausesAndStateAreComplete(t *testing.T) {
	measure(small).Checked(t, []int{1, 1}, []int{2, 1})
}

// Deaths change no bit.
func TestReplicasAgree(t *testing.T) {
	places := []string{"0.1@task:12", "1.0@update:8", "0.0@section:9", "1.1@message:3"}
	measure(small).Agree(t, agreement.Cases{Kills: places, Replaced: places})
}
