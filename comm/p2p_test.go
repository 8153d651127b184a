package comm_test

import (
	"context"
	"errors"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/testkit/sdrtest"
	"github.com/intrahpc/intra/transport/sdr"
)

// spmd runs program in simulated jobs of n ranks, with one replica each and
// with several.
func spmd(t *testing.T, n int, program func(c *comm.Comm) error) {
	t.Helper()
	for _, replicas := range [][]int{{1}, {2}, {2, 1, 3}} {
		var degrees []int
		for r := range n {
			degrees = append(degrees, replicas[r%len(replicas)])
		}
		for seed := range uint64(5) {
			job := sdrtest.Job{Degrees: degrees, Seed: seed, Limits: sdr.Limits{Eager: 128}}
			res, err := job.Run(func(p *sdrtest.Process) error {
				c, err := comm.World(p.Engine)
				if err != nil {
					return err
				}
				return program(c)
			})
			require.NoError(t, err)
			require.NoError(t, res.Err())
		}
	}
}

// want turns a failed comparison into an error.
func want(ok bool, what string) error {
	if ok {
		return nil
	}
	return errors.New(what)
}

type sample struct {
	ID    int32
	Name  [6]byte
	Value complex64
}

func TestStructs(t *testing.T) {
	spmd(t, 2, func(c *comm.Comm) error {
		all := []sample{{1, [6]byte{'a'}, 2i}, {2, [6]byte{'b', 'c'}, 3}}
		if c.Rank() == 0 {
			return comm.Send(c, all, 1, 0)
		}
		got := make([]sample, 3)
		st, err := comm.Recv(c, got, 0, 0)
		return errors.Join(err, want(st == comm.Status{Source: 0, Tag: 0, Count: 2}, "status"), differ("structs", got[:2], all))
	})
}

func TestWrongArguments(t *testing.T) {
	c := comm.Self()
	x := []int{1}
	one := func(err error, target error) {
		t.Helper()
		require.ErrorIs(t, err, target)
	}
	one(comm.Send(c, x, 1, 0), comm.ErrRank)
	one(comm.Send(c, x, comm.AnySource, 0), comm.ErrRank)
	one(comm.Send(c, x, 0, -1), comm.ErrTag)
	one(comm.Send(c, x, 0, comm.MaxTag+1), comm.ErrTag)
	_, err := comm.Recv(c, x, 0, -2)
	one(err, comm.ErrTag)
	_, err = comm.Isend(c, x, 5, 0).Wait()
	one(err, comm.ErrRank)
	one(comm.Bcast(c, x, 1), comm.ErrRank)
	one(comm.Allreduce(c, x, nil, comm.Sum), comm.ErrCount)
	one(comm.Allgather(c, x, make([]int, 3)), comm.ErrCount)
	one(comm.Gatherv(c, x, nil, 0), comm.ErrCount)
	one(comm.ReduceScatter(c, x, make([]int, 1), []int{-1}, comm.Sum), comm.ErrCount)
	_, err = comm.Ibcast(c, x, -1).Wait()
	one(err, comm.ErrRank)
	_, err = c.Split(-7, 0)
	require.Error(t, err)
	require.NoError(t, comm.Send(c, x, comm.ProcNull, 0))
	st, err := comm.Recv(c, x, comm.ProcNull, 0)
	require.NoError(t, err)
	require.Equal(t, comm.Status{Source: comm.ProcNull, Tag: comm.AnyTag}, st)

	one(comm.SendView(c, comm.View[int]{Data: x, Count: 2, Block: 1, Stride: 1}, 0, 0), comm.ErrCount)

	require.NoError(t, c.Free())
	one(comm.Send(c, x, 0, 0), comm.ErrFreed)
	one(c.Barrier(), comm.ErrFreed)
	one(c.Free(), comm.ErrFreed)
	_, err = c.Dup()
	one(err, comm.ErrFreed)
	v, err := comm.AllreduceValue(c, 7, comm.Sum)
	one(err, comm.ErrFreed)
	require.Equal(t, 7, v, "the message and the end of the job may arrive in any order")
	var none *comm.Comm
	one(comm.Send(none, x, 0, 0), comm.ErrFreed)
	one(none.Barrier(), comm.ErrFreed)
	_, err = comm.Irecv(none, x, 0, 0).Wait()
	one(err, comm.ErrFreed)
	_, err = none.Probe(0, 0)
	one(err, comm.ErrFreed)
	require.Equal(t, 0, none.Size())
}

func TestElementTypes(t *testing.T) {
	c := comm.Self()
	type nested struct {
		A int
		B [2]struct{ When time.Time }
	}
	for _, test := range []struct {
		err  error
		text string
	}{
		{comm.Send(c, []string{""}, 0, 0), "string holds a pointer"},
		{comm.Send(c, []*int{nil}, 0, 0), "*int holds a pointer"},
		{comm.Send(c, [][]int{}, 0, 0), "[]int holds a pointer"},
		{comm.Send(c, []any{}, 0, 0), "interface {}"},
		{comm.Send(c, []unsafe.Pointer{}, 0, 0), "unsafe.Pointer"},
		{comm.Send(c, []nested{}, 0, 0), "use UnixNano"},
		{comm.Bcast(c, []time.Time{{}}, 0), "time.Time holds a pointer (*time.Location in field .loc): use UnixNano"},
		{comm.Send(c, []struct{}{{}}, 0, 0), "no size"},
	} {
		require.ErrorIs(t, test.err, comm.ErrType)
		require.ErrorContains(t, test.err, test.text)
	}
	require.NoError(t, comm.Send(c, []time.Duration{1}, 0, 0))
	st, err := comm.Recv(c, make([]byte, 3), 0, 0) // 8 bytes do not fit
	require.ErrorIs(t, err, comm.ErrTruncate)
	require.Equal(t, 3, st.Count)
	require.NoError(t, comm.Send(c, []byte{1, 2, 3}, 0, 0))
	_, err = comm.Recv(c, make([]int32, 3), 0, 0)
	require.ErrorIs(t, err, comm.ErrType)
}

func TestTruncate(t *testing.T) {
	spmd(t, 2, func(c *comm.Comm) error {
		for _, n := range []int{10, 1000} { // a short message is sent at once, a long one after a receive has matched
			long := make([]int, n)
			for i := range long {
				long[i] = i
			}
			if c.Rank() == 0 {
				if err := comm.Send(c, long, 1, 0); err != nil {
					return err
				}
				continue
			}
			got := make([]int, 5)
			st, err := comm.Recv(c, got, 0, 0)
			if e := errors.Join(want(errors.Is(err, comm.ErrTruncate), "no error"), want(st.Count == 5, "count"), differ("beginning", got, long[:5])); e != nil {
				return e
			}
		}
		return nil
	})
}

func TestWaits(t *testing.T) {
	spmd(t, 3, func(c *comm.Comm) error {
		if c.Rank() != 0 {
			for tag := range 3 {
				if err := comm.Send(c, []int{c.Rank()*10 + tag}, 0, tag); err != nil {
					return err
				}
			}
			return nil
		}
		bufs := make([][]int, 6)
		reqs := []*comm.Request{nil}
		for i := range bufs {
			bufs[i] = make([]int, 1)
			reqs = append(reqs, comm.Irecv(c, bufs[i], 1+i/3, i%3))
		}
		i, st, err := comm.WaitAny(reqs...)
		if err != nil || st.Source != 1+(i-1)/3 || st.Tag != (i-1)%3 {
			return errors.Join(err, errors.New("any"))
		}
		some, err := comm.WaitSome(reqs...)
		if err != nil || len(some) == 0 {
			return errors.Join(err, errors.New("some"))
		}
		for _, j := range some {
			if j == i || j == 0 {
				return errors.New("reported twice")
			}
		}
		for {
			done, err := comm.TestAll(reqs...)
			if err != nil {
				return err
			}
			if done {
				break
			}
		}
		if i, _, _ := comm.WaitAny(reqs...); i != comm.Undefined {
			return errors.New("all were reported")
		}
		if some, _ := comm.TestSome(reqs...); some != nil {
			return errors.New("all were reported")
		}
		for k, b := range bufs {
			if b[0] != (1+k/3)*10+k%3 {
				return errors.New("contents")
			}
		}
		return comm.WaitAll(reqs...) // the second WaitAll has the same results
	})
}

func TestPersistent(t *testing.T) {
	spmd(t, 2, func(c *comm.Comm) error {
		buf := make([]int, 1)
		peer := 1 - c.Rank()
		in := make([]int, 1)
		s, r := comm.SendInit(c, buf, peer, 1), comm.RecvInit(c, in, peer, 1)
		for i := range 5 {
			buf[0] = c.Rank()*100 + i
			r.Start()
			s.Start()
			if err := comm.WaitAll(s, r); err != nil {
				return err
			}
			if in[0] != peer*100+i {
				return errors.New("contents")
			}
		}
		return nil
	})
}

func TestCancel(t *testing.T) {
	spmd(t, 2, func(c *comm.Comm) error {
		r := comm.Irecv(c, make([]int, 1), 1-c.Rank(), 9)
		r.Cancel()
		_, err := r.Wait()
		return want(errors.Is(err, comm.ErrCancelled), "not cancelled")
	})
}

func TestSendrecvAndViews(t *testing.T) {
	spmd(t, 3, func(c *comm.Comm) error {
		const n = 4
		grid := make([]int, n*n)
		for i := range grid {
			grid[i] = c.Rank()*1000 + i
		}
		column := comm.View[int]{Data: grid[n-1:], Count: n, Block: 1, Stride: n}
		next, prev := (c.Rank()+1)%3, (c.Rank()+2)%3
		s := comm.IsendView(c, column, next, 0)
		ghost := make([]int, n)
		if _, err := comm.Recv(c, ghost, prev, 0); err != nil {
			return err
		}
		_, err := s.Wait()
		if err := errors.Join(err, differ("column", ghost, []int{prev*1000 + 3, prev*1000 + 7, prev*1000 + 11, prev*1000 + 15})); err != nil {
			return err
		}
		back := make([]int, n)
		if _, err := comm.Sendrecv(c, ghost, next, 1, back, prev, 1); err != nil {
			return err
		}
		r := comm.IrecvView(c, comm.View[int]{Data: grid, Count: n / 2, Block: 2, Stride: n}, prev, 2)
		if err := comm.Send(c, []int{1, 2, 3, 4}, next, 2); err != nil {
			return err
		}
		if _, err := r.Wait(); err != nil {
			return err
		}
		b := c.Rank() * 1000
		return differ("blocks", grid[:6], []int{1, 2, b + 2, b + 3, 3, 4})
	})
}

func TestProbeCount(t *testing.T) {
	spmd(t, 2, func(c *comm.Comm) error {
		if c.Rank() == 0 {
			return comm.Send(c, make([]float64, 77), 1, 4)
		}
		st, err := c.Probe(comm.AnySource, comm.AnyTag)
		if err != nil || st != (comm.Status{Source: 0, Tag: 4, Count: 77 * 8}) {
			return errors.Join(err, errors.New("status"))
		}
		_, err = comm.Recv(c, make([]float64, st.Count/8), st.Source, st.Tag)
		return err
	})
}

// TestJobEnded: blocked calls return when the job ends, with the cause.
func TestJobEnded(t *testing.T) {
	ctx, end := context.WithCancelCause(t.Context())
	c, err := comm.World(sdr.NewEngine(sdr.Config{Degrees: []int{1}, Context: ctx}))
	require.NoError(t, err)
	cause := errors.New("rank 1 is lost")
	go end(cause)
	_, err = comm.Recv(c, make([]int, 1), 0, 0)
	require.ErrorIs(t, err, comm.ErrJobEnded)
	require.ErrorIs(t, err, cause)
	_, err = comm.Irecv(c, make([]int, 1), 0, 0).Wait()
	require.ErrorIs(t, err, comm.ErrJobEnded)
}

// TestManyToSelf: a rank sends itself more messages than the limit for copies.
func TestManyToSelf(t *testing.T) {
	c := comm.Self()
	var reqs []*comm.Request
	for i := range 100 {
		reqs = append(reqs, comm.Isend(c, make([]byte, 100_000), 0, i))
	}
	s := comm.Issend(c, []int{1}, 0, 1000)
	_, done, _ := s.Test()
	require.False(t, done)
	for i := range 100 {
		_, err := comm.Recv(c, make([]byte, 100_000), 0, 99-i)
		require.NoError(t, err)
	}
	require.NoError(t, comm.WaitAll(reqs...))
	_, err := comm.Recv(c, make([]int, 1), 0, comm.AnyTag)
	require.NoError(t, err)
	_, err = s.Wait()
	require.NoError(t, err)
}
