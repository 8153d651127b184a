//go:build intra

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/testkit/jobtest/agreement"
)

// hash returns the hash of a grid, on rank 0.
func hash(p pattern) agreement.Program[string] {
	return func(proc *intra.Process) (string, error) {
		r, err := measure(proc, some(p))
		if err != nil {
			return "", err
		}
		return r.XSHA256, nil
	}
}

// Every survivor has the values of plain loops, for all patterns, degrees, schedules and
// deaths.
func TestReplicasAgree(t *testing.T) {
	for p := range pattern(len(patterns)) {
		t.Run(p.String(), func(t *testing.T) {
			require.Equal(t, serial(some(p)), hash(p).Alone(t, 2)[0])
			hash(p).Agree(t, agreement.Cases{
				Degrees:  [][]int{{2}, {3}, {1, 2}, {2, 1, 2}},
				Kills:    []string{"1.0@task:60"},
				Replaced: []string{"0.1@section:20"},
			})
		})
	}
}

// The clauses are right, and all state on which a step depends is registered.
func TestClausesAndStateAreComplete(t *testing.T) {
	for p := range pattern(len(patterns)) {
		hash(p).Checked(t, []int{1, 1}, []int{2, 1})
	}
}
