package slow

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
)

func TestMeasure(t *testing.T) {
	o := Options{Factor: 2, Task: 10 * time.Microsecond, Sections: 3, Rounds: 2}
	results, err := Measure(t.Context(), InProcess, o)
	require.NoError(t, err)
	require.Len(t, results, len(Ways))
	for i, r := range results {
		require.Equal(t, Ways[i].Name, r.Way)
		require.Len(t, r.Seconds, 2)
		require.Positive(t, r.Seconds[0])
	}
	var out bytes.Buffer
	require.NoError(t, Table(&out, o, results))
	require.Regexp(t, `(?m)^  each runs every task +\d+\.\d{3} ms +1\.50 \[1\.50 1\.50\]$`, out.String())
	require.Contains(t, out.String(), "below 1.03")
}

func TestQuotients(t *testing.T) {
	alone, shared := Result{Seconds: []float64{3, 6}}, Result{Seconds: []float64{3, 4}}
	o := Options{Factor: 2}
	require.Equal(t, []float64{2, 4}, o.Ideal(alone))
	require.Equal(t, spread.Spread{Median: 1.25, Q1: 1.125, Q3: 1.375, Min: 1, Max: 1.5}, o.Quotients(alone, shared))
	require.Equal(t, 11/(16/1.5), o.bound(16), "11 tasks on the fast one and 5 on the slow one")
	require.Equal(t, 1.0, Options{Factor: 1}.bound(16))
}
