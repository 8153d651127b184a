package comm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/transport/sdr"
)

// BenchmarkPingPong is a round trip of one byte between two ranks over shared
// memory, both of which spin.
func BenchmarkPingPong(b *testing.B) {
	cluster := newCluster(b, "shm", []int{1, 1}, false, sdr.Limits{})
	require.NoError(b, cluster.run(func(c *comm.Comm, _ *member) error {
		buf := make([]byte, 1)
		for range b.N {
			if c.Rank() == 0 {
				if err := comm.Send(c, buf, 1, 0); err != nil {
					return err
				}
			}
			if _, err := comm.Recv(c, buf, 1-c.Rank(), 0); err != nil {
				return err
			}
			if c.Rank() == 1 {
				if err := comm.Send(c, buf, 0, 0); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}
