//go:build intra

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/intratest"
	intra "github.com/intrahpc/intra/runtime"
)

// small is a problem that is quickly solved.
var small = problem{log: 5, iterations: 3, smoother: forSmall, norm: 1}

// Clauses are right, and everything that an iteration depends on is registered.
func TestClausesAndStateAreComplete(t *testing.T) {
	want := runAll(t, intra.Spec{Ranks: 1}, problem{log: 5, iterations: 2, smoother: forSmall, norm: 1})
	for _, degree := range []int{1, 2} {
		for _, got := range runAll(t, intra.Spec{Replicas: degree, Ranks: 1, Check: true}, problem{log: 5, iterations: 2, smoother: forSmall, norm: 1}) {
			require.Equal(t, want[0], got)
		}
	}
}

// Deaths change no bit.
func TestReplicasAgree(t *testing.T) {
	want := runAll(t, intra.Spec{Ranks: 2}, small)
	for _, kill := range []string{"0.1@task:30", "1.0@update:20", "0.0@section:40", "1.1@message:100"} {
		for _, opts := range [][]intratest.Option{nil, {intratest.Replace()}} {
			all := runAll(t, intra.Spec{Ranks: 2, Replicas: 2}, small, append(opts, intratest.Kills(kill), intratest.Sched("static"))...)
			require.NotEmpty(t, all)
			for _, got := range all {
				require.Equal(t, want[0], got)
			}
		}
	}
}
