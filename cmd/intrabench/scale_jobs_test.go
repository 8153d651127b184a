//go:build linux && system

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/scale"
)

// The command measures jobs of two sizes while they rest.
func TestScale(t *testing.T) {
	dir := t.TempDir()
	numbers, plot := filepath.Join(dir, "scale.json"), filepath.Join(dir, "scale.svg")
	var out strings.Builder
	require.NoError(t, run(t.Context(), []string{"scale", "-processes", "4,10", "-rest", "1s", "-messages", "10", "-json", numbers, "-plot", plot}, &out, &out))
	require.Regexp(t, `(?m)^ +10 +`, out.String())
	var rows []scale.Row
	readResult(t, numbers, &rows)
	require.Len(t, rows, 2)
	for i, n := range []int{4, 10} {
		r := rows[i]
		require.Equal(t, n, r.Processes)
		for _, figure := range []float64{r.Start, r.HalfTrip, r.Allreduce, r.Links, r.Memory, r.LauncherMemory} {
			require.Positive(t, figure, "%+v", r)
		}
		require.Less(t, r.MostLinks, n)
	}
	drawn, err := os.ReadFile(plot)
	require.NoError(t, err)
	require.Contains(t, string(drawn), "allreduce of 8 bytes")
}
