package comm_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/testkit/sdrtest"
)

// pastBytes runs a program in a job of n ranks with two replicas each. It returns the
// number of messages, and the total size of their causal histories.
func pastBytes(t *testing.T, n int, program func(w *comm.Comm) error) (messages, bytes int) {
	t.Helper()
	job := sdrtest.Job{Degrees: slices.Repeat([]int{2}, n), Seed: 1, Steps: 20_000_000}
	res, err := job.Run(func(p *sdrtest.Process) error {
		w, err := comm.World(p.Engine)
		if err == nil {
			err = program(w)
		}
		return err
	})
	require.NoError(t, err)
	require.NoError(t, res.Err())
	messages, bytes = res.Pasts.Sizes()
	t.Logf("%d ranks: %.1f bytes per message, before %d", n, float64(bytes)/float64(messages), 8+8*n)
	return messages, bytes
}

// exchange sends to the neighbours and receives from them.
func exchange(w *comm.Comm, neighbours []int) error {
	in := make([]float64, len(neighbours))
	var reqs []*comm.Request
	for i, nb := range neighbours {
		reqs = append(reqs, comm.Irecv(w, in[i:i+1], nb, 1))
	}
	for _, nb := range neighbours {
		if err := comm.Send(w, []float64{1}, nb, 1); err != nil {
			return err
		}
	}
	return comm.WaitAll(reqs...)
}

// TestPastOfCollectives: if all messages are those of collectives of all ranks, one after
// the other, they carry no causal history. The same holds for an exchange between
// collectives in which all sends come before all waits, because the header holds the
// sender's own clock.
func TestPastOfCollectives(t *testing.T) {
	collectives := map[string]func(w *comm.Comm) error{
		"allreduce": func(w *comm.Comm) error { _, err := comm.AllreduceValue(w, 1.0, comm.Sum); return err },
		"barrier":   (*comm.Comm).Barrier,
		"allgather": func(w *comm.Comm) error { return comm.Allgather(w, []int64{1}, make([]int64, w.Size())) },
		"alltoall":  func(w *comm.Comm) error { return comm.Alltoall(w, make([]int64, w.Size()), make([]int64, w.Size())) },
		"large allreduce": func(w *comm.Comm) error {
			return comm.Allreduce(w, nil, make([]float64, 5000), comm.Sum)
		},
		"reduce-scatter": func(w *comm.Comm) error {
			return comm.ReduceScatter(w, make([]float64, w.Size()), make([]float64, 1), nil, comm.Sum)
		},
	}
	for name, f := range collectives {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{3, 4, 6} { // the smallest ones exchange their values without rounds
				messages, bytes := pastBytes(t, n, func(w *comm.Comm) error {
					for range 3 {
						if err := f(w); err != nil {
							return err
						}
					}
					return nil
				})
				require.NotZero(t, messages)
				require.Zero(t, bytes)
			}
		})
	}
	for _, n := range []int{8, 24} {
		t.Run(fmt.Sprint("HPCCG in a row of ", n), func(t *testing.T) {
			messages, bytes := pastBytes(t, n, func(w *comm.Comm) error {
				var neighbours []int
				for _, nb := range []int{w.Rank() - 1, w.Rank() + 1} {
					if nb >= 0 && nb < n {
						neighbours = append(neighbours, nb)
					}
				}
				for range 4 {
					if err := exchange(w, neighbours); err != nil {
						return err
					}
					for range 2 {
						if _, err := comm.AllreduceValue(w, 1.0, comm.Sum); err != nil {
							return err
						}
					}
				}
				return nil
			})
			require.NotZero(t, messages)
			require.Zero(t, bytes)
		})
	}
	t.Run("27 ranks that are neighbours", func(t *testing.T) {
		const n = 27
		messages, bytes := pastBytes(t, n, func(w *comm.Comm) error {
			var neighbours []int
			for k := 1; k < n; k++ {
				neighbours = append(neighbours, (w.Rank()+k)%n)
			}
			for range 2 {
				if err := exchange(w, neighbours); err != nil {
					return err
				}
				if _, err := comm.AllreduceValue(w, 1.0, comm.Sum); err != nil {
					return err
				}
			}
			return nil
		})
		require.NotZero(t, messages)
		require.Zero(t, bytes)
	})
	t.Run("reduce and broadcast", func(t *testing.T) {
		const n, rounds = 12, 10
		messages, bytes := pastBytes(t, n, func(w *comm.Comm) error {
			v := []float64{1}
			for range rounds {
				if err := comm.Reduce(w, nil, v, comm.Sum, 0); err != nil {
					return err
				}
				if err := comm.Bcast(w, v, 0); err != nil {
					return err
				}
			}
			return nil
		})
		require.Less(t, bytes, 4*n*messages/2)
	})
}

// TestAssertNoAnySource: the messages of a program that calls AssertNoAnySource carry no
// causal history. AnySource is an error that names the place of the assertion.
func TestAssertNoAnySource(t *testing.T) {
	messages, bytes := pastBytes(t, 5, func(w *comm.Comm) error {
		if err := w.AssertNoAnySource(); err != nil {
			return err
		}
		d, err := w.Dup()
		if err != nil {
			return err
		}
		n, r := w.Size(), w.Rank()
		for range 5 {
			if err := exchange(d, []int{(r + 1) % n, (r + n - 1) % n}); err != nil {
				return err
			}
		}
		return nil
	})
	require.NotZero(t, messages)
	require.Zero(t, bytes)

	spmd(t, 2, func(w *comm.Comm) error {
		before := comm.RecvInit(w, make([]int32, 1), comm.AnySource, 0)
		if err := w.AssertNoAnySource(); err != nil {
			return err
		}
		d, err := w.Dup()
		if err != nil {
			return err
		}
		if err := want(d.AssertNoAnySource() != nil, "it holds for all communicators"); err != nil {
			return err
		}
		_, recv := comm.Recv(d, make([]int32, 1), comm.AnySource, 0)
		_, irecv := comm.Irecv(w, make([]int32, 1), comm.AnySource, 0).Wait()
		_, probe := d.Probe(comm.AnySource, 0)
		_, _, iprobe := w.Iprobe(comm.AnySource, 0)
		before.Start()
		_, late := before.Wait()
		for i, err := range []error{recv, irecv, probe, iprobe, late} {
			if !errors.Is(err, comm.ErrAnySource) || strings.Count(err.Error(), "comm/past_test.go:") != 2 {
				return fmt.Errorf("call %d: %v", i, err)
			}
		}
		return w.Barrier()
	})
	spmd(t, 2, func(w *comm.Comm) error {
		if err := w.Barrier(); err != nil {
			return err
		}
		return want(w.AssertNoAnySource() != nil, "the assertion came too late")
	})
}
