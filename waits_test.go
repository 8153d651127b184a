package intra_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

// A job in one process ends if a rank waits for a rank that has finished, or that has
// called another collective.
func TestWaitsInOneProcess(t *testing.T) {
	for _, replicas := range []int{1, 2} {
		spec := intra.Spec{Ranks: 2, Replicas: replicas}
		err := intra.Run(t.Context(), spec, func(p *intra.Process) error {
			if p.Rank() == 0 {
				return nil
			}
			return p.World().Barrier()
		})
		require.ErrorContains(t, err, "rank 1 waits in Barrier for rank 0, which has finished (intra/waits_test.go:")
		err = intra.Run(t.Context(), spec, func(p *intra.Process) error {
			if p.Rank() == 0 {
				return p.World().Barrier()
			}
			_, err := comm.AllreduceValue(p.World(), 1.0, comm.Sum)
			return err
		})
		require.ErrorContains(t, err, "rank 0 has called Barrier, rank 1 Allreduce of 8 bytes (intra/waits_test.go:")
	}
}
