package affinity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/affinity"
)

func TestSpread(t *testing.T) {
	four := []affinity.Core{{0, 4}, {1, 5}, {2, 6}, {3, 7}} // four cores of two threads each
	two := []affinity.Core{{0}, {1}}
	tests := []struct {
		name  string
		mode  affinity.Mode
		cores []affinity.Core
		n     int
		want  [][]int
	}{
		{"two of two", affinity.Auto, two, 2, [][]int{{0}, {1}}},
		{"neighbours together", affinity.Auto, four, 2, [][]int{{0, 4, 1, 5}, {2, 6, 3, 7}}},
		{"equal shares", affinity.Auto, four, 3, [][]int{{0, 4}, {1, 5}, {2, 6}}},
		{"all cores for one", affinity.Auto, four, 1, [][]int{nil}},
		{"too few", affinity.Auto, two, 4, make([][]int, 4)},
		{"too few cores, but replicas on different ones", affinity.Each, two, 4, [][]int{{0}, {1}, {0}, {1}}},
		{"enough", affinity.Each, four, 2, [][]int{{0, 4, 1, 5}, {2, 6, 3, 7}}},
		{"a single core", affinity.Each, two[:1], 2, make([][]int, 2)},
		{"none", affinity.None, four, 2, make([][]int, 2)},
		{"unknown", affinity.Auto, nil, 2, make([][]int, 2)},
		{"no process", affinity.Auto, two, 0, [][]int{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, affinity.Spread(tt.mode, tt.cores, tt.n))
		})
	}
}

func TestParseMode(t *testing.T) {
	for _, m := range []affinity.Mode{affinity.Auto, affinity.Each, affinity.None} {
		got, err := affinity.ParseMode(string(m))
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
	_, err := affinity.ParseMode("socket")
	require.EqualError(t, err, `"socket": want auto, core or none`)
}
