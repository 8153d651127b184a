package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/job"
)

// A wrong message that makes all processes wait forever is found, too. The hashes of
// received messages are reported even if no acknowledgement is due.
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
				_, err = comm.Recv(c, v, 0, 5) // no rank sends this message
			}
			if err == nil {
				err = comm.Send(c, v, 0, 4)
			}
		}
		if err != nil {
			return err
		}
		_, err = intra.Once(p, func() (int, error) { return 1, nil }) // the first replica does not reach this call
		return err
	})
	require.NoError(t, ctx.Err(), "it was not found")
	require.ErrorContains(t, err, "the replicas of rank 0 have sent message 0 (tag 3, 8 bytes) to rank 1 with different contents")
}

// A program may fail because of a wrong message, or return right after it. Its process
// reports the received messages first. So the wrong message is found even if its senders
// get the report late, and the receiver is not blamed for its failure.
func TestWrongMessageBeforeAnEnd(t *testing.T) {
	flip, err := job.ParseFlip("0.1@message:0:40")
	require.NoError(t, err)
	errWrong := errors.New("got something wrong")
	for name, end := range map[string]func(p *intra.Process, got int64) error{
		"an error": func(_ *intra.Process, got int64) error {
			if got != 1 {
				return errWrong
			}
			return nil
		},
		"a panic": func(_ *intra.Process, got int64) error {
			if got != 1 {
				panic(errWrong)
			}
			return nil
		},
		"its end": func(*intra.Process, int64) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			for i := range 40 {
				of := &job.Local{Verify: &job.Verification{Share: 0.01, Seed: 1}, Flips: []job.Flip{flip}}
				degrees := [][]int{{2, 2}, {3, 3}, {3, 2}, {2, 3}}[i%4]
				err := intra.Run(job.WithLocal(t.Context(), of), intra.Spec{Degrees: degrees}, func(p *intra.Process) error {
					v := []int64{1}
					if p.Rank() == 1 {
						if _, err := comm.Recv(p.World(), v, 0, 3); err != nil {
							return err
						}
						return end(p, v[0])
					}
					if err := comm.Send(p.World(), v, 1, 3); err != nil {
						return err
					}
					if i%8 > 3 && p.Replica() != 1 { // it computes, and handles no message meanwhile
						time.Sleep(2 * time.Millisecond)
					}
					return nil
				})
				require.ErrorContains(t, err, "the replicas of rank 0 have sent message 0 (tag 3, 8 bytes) to rank 1 with different contents")
			}
		})
	}
}
