package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"

	"github.com/intrahpc/intra/intratest"
)

// state is the digest of two ranks without replicas.
func state(t *testing.T, set settings) string {
	t.Helper()
	all, _ := results(t, intra.Spec{Ranks: 2}, set)
	require.Len(t, all, 1)
	require.Len(t, all[0].StateSHA256, 64)
	return all[0].StateSHA256
}

func TestReplicasComputeTheSame(t *testing.T) {
	set := small(3)
	want := state(t, set)
	for _, degrees := range [][]int{{2, 2}, {1, 2}, {3, 2}, {4, 4}} {
		for _, policy := range []string{"static", "adaptive", "replicate"} {
			t.Run(fmt.Sprint(degrees, policy), func(t *testing.T) {
				all, _ := results(t, intra.Spec{Ranks: 2, Degrees: degrees}, set, intratest.Sched(policy))
				require.Len(t, all, degrees[0])
				for _, r := range all {
					require.Equal(t, want, r.StateSHA256)
				}
			})
		}
	}
	set.tasks = 5
	require.NotEqual(t, want, state(t, set), "more tasks add up in another order, so the digest sees the last bit")
}

// All state on which a step depends is registered, or computed again.
func TestStateIsComplete(t *testing.T) {
	set := small(3)
	want := state(t, set)
	for _, degrees := range [][]int{{1, 1}, {2, 1}} {
		all, _ := results(t, intra.Spec{Degrees: degrees, Check: true}, set)
		require.Equal(t, want, all[0].StateSHA256)
	}
}
