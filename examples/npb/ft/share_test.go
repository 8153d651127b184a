//go:build intra

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/intratest"
	intra "github.com/intrahpc/intra/runtime"
)

// Clauses are right, and everything that an iteration depends on is registered.
func TestClausesAndStateAreComplete(t *testing.T) {
	want := runAll(t, intra.Spec{Ranks: 2}, small)
	for _, degrees := range [][]int{{1, 1}, {2, 1}} {
		for _, got := range runAll(t, intra.Spec{Degrees: degrees, Check: true}, small) {
			require.Equal(t, want[0], got)
		}
	}
}

// Deaths change no bit.
func TestReplicasAgree(t *testing.T) {
	want := runAll(t, intra.Spec{Ranks: 2}, small)
	for _, kill := range []string{"0.1@task:12", "1.0@update:8", "0.0@section:9", "1.1@message:3"} {
		for _, opts := range [][]intratest.Option{nil, {intratest.Replace()}} {
			all := runAll(t, intra.Spec{Ranks: 2, Replicas: 2}, small, append(opts, intratest.Kills(kill), intratest.Sched("static"))...)
			require.NotEmpty(t, all)
			for _, got := range all {
				require.Equal(t, want[0], got)
			}
		}
	}
}
