//go:build linux

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
)

// TestWeibull checks that processes are killed at random until a rank is lost. The same seed
// kills the same processes. The report names each killed process with its time.
func TestWeibull(t *testing.T) {
	var order [2][]any
	for i := range order {
		r := runJob(t, "-r 5 -fault weibull:shape=0.7,mtbf=50ms -seed 11", steps.Program("join", "forever")...)
		require.Equal(t, 3, r.code, r.stderr)
		require.Contains(t, r.stderr, "rank 0 has lost its last replica")
		require.ElementsMatch(t, []string{"0.0 injected", "0.1 injected", "0.2 injected", "0.3 injected", "0.4 injected"}, r.Deaths())
		for _, f := range r.report["failures"].([]any) {
			require.Regexp(t, `^killed by -fault weibull at [0-9.]+ s, number [1-5] of seed 11$`, f.(map[string]any)["detail"])
		}
		w := r.report["weibull"].(map[string]any)
		require.EqualValues(t, 0.7, w["shape"])
		require.EqualValues(t, 0.05, w["mtbf_seconds"])
		require.EqualValues(t, 11, w["seed"])
		last := 0.0
		for _, s := range w["strikes"].([]any) {
			m := s.(map[string]any)
			order[i] = append(order[i], m["process"])
			require.GreaterOrEqual(t, m["at_seconds"].(float64), last)
			last = m["at_seconds"].(float64)
		}
		require.Len(t, order[i], 5)
	}
	require.Equal(t, order[0], order[1])
}
