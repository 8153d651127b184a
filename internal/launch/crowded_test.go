package launch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCrowded(t *testing.T) {
	require.Empty(t, crowded([]int{2}, 1, 2))
	require.Empty(t, crowded([]int{2, 2}, 4, 16))
	require.Equal(t, "4 processes on 2 cores: they take turns, so times say nothing about sharing", crowded([]int{2, 2}, 1, 2))
	require.Equal(t, "2 processes with 4 workers each on 4 cores: they take turns, so times say nothing about sharing", crowded([]int{1, 1}, 4, 4))
}
