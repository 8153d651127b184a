package comm_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/testkit/commtest"
	"github.com/intrahpc/intra/transport/sdr"
)

// TestCollectivesAgain: a program repeats small collectives with the same memory, but with
// other values, roots and operators. It does so in any order, and several at a time.
func TestCollectivesAgain(t *testing.T) {
	for _, degrees := range [][]int{{1}, {1, 1}, {2, 1, 2}, {1, 1, 1, 1, 1}} {
		t.Run(fmt.Sprint(degrees), func(t *testing.T) {
			c := newCluster(t, "inproc", degrees, false, sdr.Limits{})
			require.NoError(t, c.run(func(w *comm.Comm, _ *member) error { return again(w, 400) }))
		})
	}
}

func again(w *comm.Comm, steps int) error {
	random := rand.New(rand.NewPCG(1, 2)) // the same sequence at every rank
	value := func(rank, step int) commtest.Affine {
		return commtest.Affine{A: uint64(2*(rank+step) + 1), B: uint64(rank * step)}
	}
	const width = 2
	type place struct {
		send, recv []commtest.Affine
		pending    *comm.Request
		want       []commtest.Affine // expected contents of recv; nil: any
		what       string
	}
	places := make([]place, 11)
	for i := range places {
		places[i].send = make([]commtest.Affine, width)
		places[i].recv = make([]commtest.Affine, width*w.Size())
	}
	finish := func(p *place) error {
		if p.pending != nil {
			if _, err := p.pending.Wait(); err != nil {
				return err
			}
			p.pending = nil
		}
		if p.want != nil && !slices.Equal(p.recv[:len(p.want)], p.want) {
			return fmt.Errorf("%s: %v, want %v", p.what, p.recv[:len(p.want)], p.want)
		}
		p.want = nil
		return nil
	}
	for step := range steps {
		p := &places[random.IntN(len(places))]
		if err := finish(p); err != nil {
			return err
		}
		n, root, blocking := 1+random.IntN(width), random.IntN(w.Size()), random.IntN(2) > 0
		op, swap := commtest.Compose, random.IntN(2) > 0
		if swap {
			op = func(a, b commtest.Affine) commtest.Affine { return commtest.Affine{A: a.A * b.A, B: max(a.B, b.B)} }
		}
		var all, folded []commtest.Affine
		for i := range n {
			p.send[i] = value(w.Rank(), step+i)
		}
		for rank := range w.Size() {
			for i := range n {
				v := value(rank, step+i)
				all = append(all, v)
				if rank == 0 {
					folded = append(folded, v)
				} else {
					folded[i] = op(folded[i], v)
				}
			}
		}
		send, recv := p.send[:n], p.recv[:n]
		do := func(call func() error, begin func() *comm.Request) error {
			if blocking {
				return call()
			}
			p.pending = begin()
			return nil
		}
		var err error
		switch kind := random.IntN(7); kind {
		case 0:
			p.what, p.want = "bcast", all[root*n:(root+1)*n]
			copy(recv, send)
			err = do(func() error { return comm.Bcast(w, recv, root) }, func() *comm.Request { return comm.Ibcast(w, recv, root) })
		case 1:
			p.what = "reduce"
			if w.Rank() == root {
				p.want = folded
			}
			err = do(func() error { return comm.Reduce(w, send, recv, op, root) }, func() *comm.Request { return comm.Ireduce(w, send, recv, op, root) })
		case 2, 3:
			p.what, p.want = "allreduce", folded
			if kind == 3 { // in place
				copy(recv, send)
				send = nil
			}
			err = do(func() error { return comm.Allreduce(w, send, recv, op) }, func() *comm.Request { return comm.Iallreduce(w, send, recv, op) })
		case 4:
			p.what, p.want, recv = "allgather", all, p.recv[:n*w.Size()]
			err = do(func() error { return comm.Allgather(w, send, recv) }, func() *comm.Request { return comm.Iallgather(w, send, recv) })
		case 5:
			err = w.Barrier()
		case 6:
			got, e := comm.AllreduceValue(w, value(w.Rank(), step), op)
			if err = e; err == nil && got != folded[0] {
				err = fmt.Errorf("one value: %v, want %v", got, folded[0])
			}
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		if blocking {
			if err := finish(p); err != nil {
				return fmt.Errorf("step %d: %w", step, err)
			}
		}
	}
	for i := range places {
		if err := finish(&places[i]); err != nil {
			return err
		}
	}
	return nil
}
