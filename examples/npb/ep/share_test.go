//go:build intra

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/intratest"
	intra "github.com/intrahpc/intra/runtime"
)

// Clauses are right, and everything that a round depends on is registered.
func TestClausesAndStateAreComplete(t *testing.T) {
	want := runAll(t, intra.Spec{Ranks: 2})[0]
	for _, degrees := range [][]int{{1, 1}, {2, 1}} {
		for _, got := range runAll(t, intra.Spec{Degrees: degrees, Check: true}) {
			require.Equal(t, want, got)
		}
	}
}

// Deaths change no bit.
func TestReplicasAgree(t *testing.T) {
	want := runAll(t, intra.Spec{Ranks: 2})[0]
	for _, kill := range []string{"0.1@task:5", "1.0@update:3", "0.0@section:2"} {
		for _, opts := range [][]intratest.Option{nil, {intratest.Replace()}} {
			all := runAll(t, intra.Spec{Ranks: 2, Replicas: 2}, append(opts, intratest.Kills(kill), intratest.Sched("static"))...)
			require.NotEmpty(t, all)
			for _, got := range all {
				require.Equal(t, want, got)
			}
		}
	}
}
