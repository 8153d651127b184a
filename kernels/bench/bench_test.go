package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/kernels/bench"
	"github.com/intrahpc/intra/kernels/internal/simd"
	"github.com/intrahpc/intra/kernels/matrix"
)

func TestVectors(t *testing.T) {
	results, err := bench.Vectors(t.Context(), bench.Options{Rounds: 3, Sizes: []string{"l1"}, Kernels: []string{"dot", "waxpby", "WaxpbyNT"}})
	require.NoError(t, err)
	// Two element types. Two kernels have a plain loop, one has none.
	require.Len(t, results, 2*(2+3*len(simd.Paths())))
	for _, r := range results {
		require.Len(t, r.Seconds, 3)
		require.True(t, r.Q1 <= r.Median && r.Median <= r.Q3 && r.Q1 > 0, "%+v", r)
		require.InEpsilon(t, float64(r.Bytes)/r.Median/1e9, r.GBps, 1e-9)
		require.Positive(t, r.OfLimit)
		require.Positive(t, r.Speedup)
		if r.Path == bench.Plain {
			require.Equal(t, 1.0, r.Speedup)
		}
	}
	require.Equal(t, int64(2*results[0].N*8), find(t, results, "Dot", "go").Bytes)
	require.Equal(t, int64(3*results[0].N*8), find(t, results, "WaxpbyNT", "go").Bytes)

	var table bytes.Buffer
	require.NoError(t, bench.Table(&table, results))
	require.Equal(t, 1+len(results), strings.Count(table.String(), "\n"))
	_, err = json.Marshal(results)
	require.NoError(t, err)
}

func find(t *testing.T, results []bench.Result, kernel, path string) bench.Result {
	for _, r := range results {
		if r.Kernel == kernel && r.Path == path {
			return r
		}
	}
	require.Fail(t, "no result", "%s %s", kernel, path)
	return bench.Result{}
}

func TestSpMV(t *testing.T) {
	a := matrix.Stencil27(16, 16, 16)
	results, err := bench.SpMV(t.Context(), "small", a, bench.Options{Rounds: 2, Paths: []string{"go"}})
	require.NoError(t, err)
	require.Len(t, results, 7) // the plain loop, two formats, one with an inner product, a plain sweep, a fast one, and reading
	csr, sliced := find(t, results, "SpMV/CSR", "go"), find(t, results, "SpMV/Sliced", "go")
	require.Equal(t, a.Bytes()+2*8*4096, csr.Bytes)
	require.Less(t, sliced.Bytes, csr.Bytes)
	require.Positive(t, csr.Speedup)
	require.Equal(t, sliced.Bytes, find(t, results, "SpMVDot/Sliced", "go").Bytes)
	require.Positive(t, sliced.OfLimit)
	sweep := find(t, results, "SymGS", "go")
	require.Positive(t, sweep.Speedup)
	require.Positive(t, sweep.OfLimit)
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := bench.Vectors(ctx, bench.Options{Rounds: 1, Sizes: []string{"L1"}})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "measuring L1")
}
