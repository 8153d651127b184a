package spread

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Spread
	}{
		{nil, Spread{}},
		{[]float64{3}, Spread{3, 3, 3, 3, 3}},
		{[]float64{4, 2}, Spread{3, 2.5, 3.5, 2, 4}},
		{[]float64{5, 1, 2, 4, 3}, Spread{3, 2, 4, 1, 5}},
		{[]float64{8, 1, 1, 1}, Spread{1, 1, 2.75, 1, 8}},
	} {
		require.Equal(t, c.want, Of(c.values), "%v", c.values)
	}
	require.True(t, Spread{Median: 1, Q1: 0.9, Q3: 1.1}.Loose())
	require.False(t, Spread{Median: 1, Q1: 0.95, Q3: 1.05}.Loose())
}
