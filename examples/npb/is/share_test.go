//go:build intra

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/intratest"
	intra "github.com/intrahpc/intra/runtime"
)

// small is a problem that is quickly solved.
var small = problem{keys: 12, values: 9, buckets: 4}

// Clauses are right, and everything that an iteration depends on is registered.
func TestClausesAndStateAreComplete(t *testing.T) {
	want := runAll(t, intra.Spec{Ranks: 2}, small)
	for _, degrees := range [][]int{{1, 1}, {2, 1}} {
		requireSame(t, want, runAll(t, intra.Spec{Degrees: degrees, Check: true}, small))
	}
}

// Deaths change no bit.
func TestReplicasAgree(t *testing.T) {
	want := runAll(t, intra.Spec{Ranks: 2}, small)
	for _, kill := range []string{"0.1@task:30", "1.0@update:40", "0.0@section:12", "1.1@message:30"} {
		for _, opts := range [][]intratest.Option{nil, {intratest.Replace()}} {
			all := runAll(t, intra.Spec{Ranks: 2, Replicas: 2}, small, append(opts, intratest.Kills(kill), intratest.Sched("static"))...)
			requireSame(t, want, all)
		}
	}
}

func requireSame(t *testing.T, want, got map[int][]outcome) {
	t.Helper()
	require.Len(t, got, len(want))
	for rank, replicas := range got {
		for _, one := range replicas {
			require.Equal(t, want[rank][0], one)
		}
	}
}
