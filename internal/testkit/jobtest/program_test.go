package jobtest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRanksOfFlags(t *testing.T) {
	for flags, want := range map[string]int{
		"": 1, "-r 3 -link tcp": 1, "-n 2 -r 2": 2, "-r 2 -n 4": 4, "-degrees 2,1,3": 3, "-sched static -degrees 2 -direct": 1,
	} {
		require.Equal(t, want, ranks(flags), flags)
	}
}
