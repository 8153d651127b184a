package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// A link to a process that has been replaced since does not take the place of
// the link to its replacement, though it comes later.
func TestALateLinkToADeadJoiner(t *testing.T) {
	p := job.Process{Rank: 1}
	var links peerLinks
	require.True(t, links.set(p, &peerLink{incarnation: 1}))
	require.True(t, links.set(p, &peerLink{incarnation: 5}))
	require.False(t, links.set(p, &peerLink{incarnation: 3}))
	require.NotNil(t, links.get(p, 5))
	require.True(t, links.isClosed(p, 3), "its death need not be waited for")
}
