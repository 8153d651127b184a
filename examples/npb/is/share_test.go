//go:build intra

package main

import (
	"testing"

	"github.com/intrahpc/intra/internal/testkit/jobtest/agreement"
)

// small is a problem with a short run.
var small = problem{keys: 12, values: 9, buckets: 4}

// The clauses are right, and all state on which an iteration depends is registered.
func TestClausesAndStateAreComplete(t *testing.T) {
	measure(small).Checked(t, []int{1, 1}, []int{2, 1})
}

// Deaths change no bit.
func TestReplicasAgree(t *testing.T) {
	places := []string{"0.1@task:30", "1.0@update:40", "0.0@section:12", "1.1@message:30"}
	measure(small).Agree(t, agreement.Cases{Kills: places, Replaced: places})
}
