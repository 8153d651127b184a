//go:build intra

package main

import (
	"testing"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/testkit/jobtest/agreement"
)

// program factors a small matrix twice.
func program(ordinary bool) agreement.Program[result] {
	return func(p *intra.Process) (result, error) {
		r, err := measure(p, settings{n: 40, tasks: 7, repeat: 2, ordinary: ordinary})
		if err != nil {
			return result{}, err
		}
		r.Seconds = 0
		return *r, nil
	}
}

// The clauses are right, and all state on which a column depends is registered.
func TestClausesAndStateAreComplete(t *testing.T) { program(false).Checked(t, []int{1}, []int{2}) }

// Every survivor has the bits of the run without replicas, for all schedules.
func TestReplicasAgree(t *testing.T) {
	for _, ordinary := range []bool{false, true} {
		program(ordinary).Agree(t, agreement.Cases{Degrees: [][]int{{2}, {3}, {2}}})
	}
}
