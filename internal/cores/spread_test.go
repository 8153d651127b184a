package cores_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/cores"
)

func TestSpread(t *testing.T) {
	four := []cores.Core{{0, 4}, {1, 5}, {2, 6}, {3, 7}} // two threads each
	two := []cores.Core{{0}, {1}}
	tests := []struct {
		name  string
		mode  cores.Mode
		cores []cores.Core
		n     int
		want  [][]int
	}{
		{"two of two", cores.Auto, two, 2, [][]int{{0}, {1}}},
		{"neighbours together", cores.Auto, four, 2, [][]int{{0, 4, 1, 5}, {2, 6, 3, 7}}},
		{"equal shares", cores.Auto, four, 3, [][]int{{0, 4}, {1, 5}, {2, 6}}},
		{"all cores for one", cores.Auto, four, 1, [][]int{nil}},
		{"too few", cores.Auto, two, 4, make([][]int, 4)},
		{"too few, yet replicas apart", cores.Each, two, 4, [][]int{{0}, {1}, {0}, {1}}},
		{"enough", cores.Each, four, 2, [][]int{{0, 4, 1, 5}, {2, 6, 3, 7}}},
		{"a single core", cores.Each, two[:1], 2, make([][]int, 2)},
		{"none", cores.None, four, 2, make([][]int, 2)},
		{"unknown", cores.Auto, nil, 2, make([][]int, 2)},
		{"no process", cores.Auto, two, 0, [][]int{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, cores.Spread(tt.mode, tt.cores, tt.n))
		})
	}
}

func TestParseMode(t *testing.T) {
	for _, m := range []cores.Mode{cores.Auto, cores.Each, cores.None} {
		got, err := cores.ParseMode(string(m))
		require.NoError(t, err)
		require.Equal(t, m, got)
	}
	_, err := cores.ParseMode("socket")
	require.EqualError(t, err, `"socket": want auto, core or none`)
}
