//go:build intra

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/intratest"
	intra "github.com/intrahpc/intra/runtime"
)

// small is a problem that is quickly solved.
var small = problem{rows: 128, entries: 4, steps: 4, shift: 10, zeta: 1}

// Clauses are right, and everything that a step depends on is registered.
func TestClausesAndStateAreComplete(t *testing.T) {
	want, _ := runAll(t, intra.Spec{Ranks: 2}, 'S', small)
	for _, degrees := range [][]int{{1, 1}, {2, 1}} {
		all, _ := runAll(t, intra.Spec{Degrees: degrees, Check: true}, 'S', small)
		for _, got := range all {
			require.Equal(t, want[0], got)
		}
	}
}

// Deaths change no bit.
func TestReplicasAgree(t *testing.T) {
	want, _ := runAll(t, intra.Spec{Ranks: 2}, 'S', small)
	for _, kill := range []string{"0.1@task:150", "1.0@update:60", "0.0@section:70", "1.1@message:200"} {
		for _, opts := range [][]intratest.Option{nil, {intratest.Replace()}} {
			all, _ := runAll(t, intra.Spec{Ranks: 2, Replicas: 2}, 'S', small, append(opts, intratest.Kills(kill), intratest.Sched("static"))...)
			require.NotEmpty(t, all)
			for _, got := range all {
				require.Equal(t, want[0], got)
			}
		}
	}
}
