package comm_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
)

func TestGroups(t *testing.T) {
	spmd(t, 5, func(c *comm.Comm) error {
		g := c.Group()
		odd, err := g.Include(3, 1)
		if err != nil {
			return err
		}
		low, err := g.Exclude(4, 3)
		if err != nil {
			return err
		}
		ranks := func(h *comm.Group) string {
			all := make([]int, h.Size())
			for i := range all {
				all[i] = i
			}
			out, err := h.Translate(g, all...)
			return fmt.Sprint(out, err)
		}
		back, err := low.Translate(odd, 0, 1, 2)
		_, twice := g.Include(1, 1)
		_, beyond := g.Include(5)
		return errors.Join(
			want(ranks(odd) == "[3 1] <nil>", "include"),
			want(ranks(low) == "[0 1 2] <nil>", "exclude"),
			want(ranks(odd.Union(low)) == "[3 1 0 2] <nil>", "union"),
			want(ranks(odd.Intersection(low)) == "[1] <nil>", "intersection"),
			want(ranks(odd.Difference(low)) == "[3] <nil>", "difference"),
			want(fmt.Sprint(back, err) == fmt.Sprint([]int{comm.Undefined, 1, comm.Undefined}, nil), "translate"),
			want(g.Equal(c.Group()) && !g.Equal(low), "equal"),
			want(odd.Similar(odd.Intersection(g)) && !odd.Similar(low), "similar"),
			want(errors.Is(twice, comm.ErrRank) && errors.Is(beyond, comm.ErrRank), "errors"),
			want(g.Rank() == c.Rank(), "rank"))
	})
}

func TestCommunicators(t *testing.T) {
	spmd(t, 5, func(c *comm.Comm) error {
		// A communicator does not receive messages that were sent on its duplicate, and
		// vice versa.
		dup, err := c.Dup()
		if err != nil {
			return err
		}
		next, prev := (c.Rank()+1)%5, (c.Rank()+4)%5
		a, b := comm.Isend(c, []int{1}, next, 0), comm.Isend(dup, []int{2}, next, 0)
		v := make([]int, 1)
		if _, err := comm.Recv(dup, v, comm.AnySource, comm.AnyTag); err != nil || v[0] != 2 {
			return errors.Join(err, fmt.Errorf("dup got %v", v))
		}
		if _, err := comm.Recv(c, v, prev, 0); err != nil || v[0] != 1 {
			return errors.Join(err, fmt.Errorf("world got %v", v))
		}
		if err := comm.WaitAll(a, b); err != nil {
			return err
		}

		// Split by color, in the order of the keys.
		color := []int{0, 1, 0, comm.Undefined, 0}[c.Rank()]
		sub, err := c.Split(color, -c.Rank())
		if err != nil {
			return err
		}
		switch c.Rank() {
		case 3:
			if sub != nil {
				return errors.New("a rank without a color gets no communicator")
			}
		case 1:
			if sub.Size() != 1 {
				return errors.New("the rank is the only one of its color")
			}
		default:
			sum, err := comm.AllreduceValue(sub, c.Rank(), func(a, b int) int { return a*10 + b })
			if err != nil || sum != 420 || sub.Rank() != 2-c.Rank()/2 {
				return errors.Join(err, fmt.Errorf("rank %d, sum %d", sub.Rank(), sum))
			}
		}

		// Communicators of groups: Create is called by all, CreateGroup by the members
		// only.
		g, err := c.Group().Include(4, 0, 2)
		if err != nil {
			return err
		}
		even, err := c.Create(g)
		if err != nil {
			return err
		}
		if (even == nil) != (g.Rank() == comm.Undefined) {
			return errors.New("create")
		}
		if even == nil {
			_, err := c.CreateGroup(g, 7)
			return want(errors.Is(err, comm.ErrRank), "not a member")
		}
		for range 2 { // the second call makes another communicator
			only, err := c.CreateGroup(g, 7)
			if err != nil {
				return err
			}
			all := make([]int, 3)
			if err := comm.Allgather(only, []int{c.Rank()}, all); err != nil {
				return err
			}
			if err := differ("members", all, []int{4, 0, 2}); err != nil {
				return err
			}
			if err := only.Free(); err != nil {
				return err
			}
		}
		return even.Barrier()
	})
}

// TestConcurrentDups: goroutines of one process communicate at the same time,
// each on a communicator of its own.
func TestConcurrentDups(t *testing.T) {
	c := newCluster(t, "inproc", []int{2, 1}, false, zeroLimits)
	require.NoError(t, c.run(func(w *comm.Comm, _ *member) error {
		errs := make(chan error)
		for range 4 {
			d, err := w.Dup()
			if err != nil {
				return err
			}
			go func() {
				for i := range 200 {
					sum, err := comm.AllreduceValue(d, i+d.Rank(), comm.Sum)
					if err == nil && sum != 2*i+1 {
						err = fmt.Errorf("sum %d in round %d", sum, i)
					}
					if err != nil {
						errs <- err
						return
					}
				}
				errs <- nil
			}()
		}
		var err error
		for range 4 {
			err = errors.Join(err, <-errs)
		}
		return err
	}))
}
