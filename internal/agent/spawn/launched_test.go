package spawn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// The first process on each host is its agent, with a slot for each process of the host.
func TestPlacesOfLaunched(t *testing.T) {
	secret := job.NewSecret()
	words := []word{{Host: "a", PID: 7, Addresses: []string{"10.0.0.1:7"}, Secret: &secret}, {Host: "b", PID: 5}, {Host: "a", PID: 8}, {Host: "b", PID: 7}, {Host: "a", PID: 9}}
	for rank, want := range []Indexed{{Agent: 7}, {Index: 1, Agent: 5}, {Agent: 7, Idle: true}, {Index: 1, Agent: 5, Idle: true}, {Agent: 7, Idle: true}} {
		want.Hosts = []job.Host{{Name: "a", Slots: 3}, {Name: "b", Slots: 2}}
		want.Heads, want.Secret, want.launched = []string{"10.0.0.1:7"}, secret, true
		var x Indexed
		require.NoError(t, x.settle(rank, words))
		require.Equal(t, want, x)
	}
	require.ErrorContains(t, new(Indexed).settle(0, words[1:]), "process 0 is no head")
}
