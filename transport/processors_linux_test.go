package transport

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRanges(t *testing.T) {
	for list, want := range map[string]int{"0": 1, "0-1": 2, "0-3,8": 5, "1,3-4,6-7": 5, "": 0, "x-y": 0} {
		require.Equal(t, want, ranges(list), list)
	}
	require.GreaterOrEqual(t, processors(), runtime.NumCPU())
}
