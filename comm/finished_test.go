package comm_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/testkit/sdrtest"
	"github.com/intrahpc/intra/transport/sdr"
)

// tooMuch contains ways to wait for rank 0, which has finished.
var tooMuch = map[string]func(c *comm.Comm) error{
	"receive": func(c *comm.Comm) error { _, err := comm.Recv(c, make([]int, 1), 0, 1); return err },
	"probe":   func(c *comm.Comm) error { _, err := c.Probe(0, comm.AnyTag); return err },
	"ssend":   func(c *comm.Comm) error { return comm.Ssend(c, make([]int, 1), 0, 9) },
	"large":   func(c *comm.Comm) error { return comm.Send(c, make([]int, 100), 0, 9) },
	"request": func(c *comm.Comm) error { _, err := comm.Irecv(c, make([]int, 1), 0, 1).Wait(); return err },
	"one of two": func(c *comm.Comm) error {
		_, _, err := comm.WaitAny(comm.Irecv(c, make([]int, 1), 0, 1), comm.Irecv(c, make([]int, 1), 0, 2))
		return err
	},
	"barrier": func(c *comm.Comm) error {
		if c.Size() > 2 && c.Rank() != 1 { // this rank waits for another one
			return nil
		}
		return c.Barrier()
	},
	"reduction": func(c *comm.Comm) error {
		if c.Size() > 2 && c.Rank() != 1 {
			return nil
		}
		return comm.Reduce(c, nil, make([]int, 1), comm.Sum, 1)
	},
}

// A wait for a rank that has finished returns an error after all messages of that rank have
// arrived. This holds no matter which processes are slow or die.
func TestWaitForAFinishedRank(t *testing.T) {
	for name, wait := range tooMuch {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(30) {
				rng := rand.New(rand.NewPCG(seed, 16))
				degrees := make([]int, 2+rng.IntN(2))
				for i := range degrees {
					degrees[i] = 1 + rng.IntN(3)
				}
				rank := rng.IntN(len(degrees))
				job := sdrtest.Job{Degrees: degrees, Seed: seed, Limits: sdr.Limits{Eager: 128}, Lag: []int{0, rng.IntN(20)},
					Kills: []sdrtest.Kill{{Rank: rank, Replica: rng.IntN(degrees[rank]), Point: sdrtest.AtFrame, Count: rng.IntN(12)}}}
				res, err := job.Run(func(p *sdrtest.Process) error { return sendsFew(p, wait) })
				require.NoError(t, err)
				require.NoError(t, res.Err())
			}
		})
	}
}

// sendsFew makes rank 0 send three messages to all ranks, and makes the others wait for
// more.
func sendsFew(p *sdrtest.Process, wait func(c *comm.Comm) error) error {
	c, err := comm.World(p.Engine)
	if err != nil {
		return err
	}
	for k := range 3 {
		for to := 1; to < c.Size(); to++ {
			b := []int{10*to + k}
			if c.Rank() == 0 {
				err = comm.Send(c, b, to, 1)
			} else if c.Rank() == to {
				if _, err = comm.Recv(c, b, 0, 1); err == nil && b[0] != 10*to+k {
					err = fmt.Errorf("message %d is %d", k, b[0])
				}
			}
			if err != nil {
				return err
			}
		}
	}
	if c.Rank() == 0 {
		return nil
	}
	if err := wait(c); err != nil && !errors.Is(err, comm.ErrFinished) {
		return err
	} else if err == nil && (c.Rank() == 1 || c.Size() == 2) {
		return errors.New("a message that was never sent has arrived")
	}
	return nil
}

// Ranks that call different collectives get an error that names both calls.
func TestDifferentCollectives(t *testing.T) {
	for want, call := range map[string]func(c *comm.Comm) error{
		"rank 0 has called Barrier, rank 1 Allreduce of 8 bytes": func(c *comm.Comm) error {
			if c.Rank() == 0 {
				return c.Barrier()
			}
			return comm.Allreduce(c, nil, make([]int64, 1), comm.Sum)
		},
		"rank 0 has called Allgather of 8 bytes, rank 1 Allgather of 4 bytes": func(c *comm.Comm) error {
			if c.Rank() == 0 {
				return comm.Allgather(c, nil, make([]int32, 4))
			}
			return comm.Allgather(c, nil, make([]int32, 2))
		},
		"rank 0 has called Split, rank 1 Alltoall of 8 bytes": func(c *comm.Comm) error {
			if c.Rank() == 0 {
				_, err := c.Split(0, 0)
				return err
			}
			return comm.Alltoall(c, make([]int32, 2), make([]int32, 2))
		},
	} {
		for seed := range uint64(10) {
			job := sdrtest.Job{Degrees: []int{2, 1 + int(seed%2)}, Seed: seed}
			res, err := job.Run(func(p *sdrtest.Process) error {
				c, err := comm.World(p.Engine)
				if err != nil {
					return err
				}
				err = call(c)
				if !errors.Is(err, comm.ErrMismatch) && !errors.Is(err, comm.ErrFinished) { // ErrFinished: from a process that has already stopped
					return fmt.Errorf("want a mismatch, got %w", errors.Join(err))
				}
				if errors.Is(err, comm.ErrMismatch) && !strings.Contains(err.Error(), want) {
					return err
				}
				return nil
			})
			require.NoError(t, err)
			require.NoError(t, res.Err())
		}
	}
}
