package engine_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/job"
	intra "github.com/intrahpc/intra/runtime"
)

// A wrong message that makes everybody wait for ever is found all the same: what was
// received is told also where no acknowledgement is due.
func TestWrongMessageThatBlocks(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	flip, err := job.ParseFlip("0.0@message:0:40")
	require.NoError(t, err)
	of := &job.Local{Verify: &job.Verification{Share: 0.01, Seed: 1}, Flips: []job.Flip{flip}}
	err = intra.Run(job.WithLocal(ctx, of), intra.Spec{Ranks: 2, Replicas: 2}, func(p *intra.Process) error {
		c, v := p.World(), []int64{1}
		var err error
		if p.Rank() == 0 {
			if err = comm.Send(c, v, 1, 3); err == nil {
				_, err = comm.Recv(c, v, 1, 4)
			}
		} else {
			_, err = comm.Recv(c, v, 0, 3)
			if err == nil && v[0] != 1 {
				_, err = comm.Recv(c, v, 0, 5) // which nobody sends
			}
			if err == nil {
				err = comm.Send(c, v, 0, 4)
			}
		}
		if err != nil {
			return err
		}
		_, err = intra.Once(p, func() (int, error) { return 1, nil }) // the first replica does not come to it
		return err
	})
	require.NoError(t, ctx.Err(), "it was not found")
	require.ErrorContains(t, err, "the replicas of rank 0 have sent message 0 (tag 3, 8 bytes) to rank 1 with different contents")
}
