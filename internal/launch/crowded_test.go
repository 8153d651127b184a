package launch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

func TestCrowded(t *testing.T) {
	require.Empty(t, crowded([]int{2}, 1, 2))
	require.Empty(t, crowded([]int{2, 2}, 4, 16))
	require.Equal(t, "4 processes on 2 cores: they take turns, so times say nothing about sharing", crowded([]int{2, 2}, 1, 2))
	require.Equal(t, "2 processes with 4 workers each on 4 cores: they take turns, so times say nothing about sharing", crowded([]int{1, 1}, 4, 4))
}

func TestUnmatched(t *testing.T) {
	require.Empty(t, unmatched([]int{1, 2}, nil))
	require.Empty(t, unmatched([]int{2, 3}, &job.Verification{Share: 0.01}))
	require.Equal(t, "rank 1 has one replica, which runs sampled tasks twice: -sdc can find only faults there that do not repeat",
		unmatched([]int{2, 1}, &job.Verification{Share: 0.01}))
}
