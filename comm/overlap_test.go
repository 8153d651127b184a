package comm_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
)

// wait makes a blocking call of a non-blocking one: it waits for the operation.
func wait(r *comm.Request) error {
	_, err := r.Wait()
	return err
}

// TestOverlap: every call that reads one buffer and writes another refuses buffers that
// share memory. The error names the buffers, the cure and the place.
func TestOverlap(t *testing.T) {
	c := comm.Self()
	x := make([]int32, 8)
	whole, parts := x[:2], [][]int32{x[:2]}
	sum := comm.Sum[int32]
	const copied, inPlace, placed, kept = "slices.Clone(send)", "pass nil as send to combine in place",
		"pass nil as send if the part is in its place already", "pass nil as recv to leave the part in its place"
	calls := map[string]struct {
		cure string
		call func(with []int32) error
	}{
		"sendrecv": {"SendrecvReplace", func(y []int32) error {
			_, err := comm.Sendrecv(c, whole, 0, 1, y, 0, 1)
			return err
		}},
		"sendrecv of other elements": {"SendrecvReplace", func(y []int32) error {
			_, err := comm.Sendrecv(c, [][1]int32{{1}, {2}}, 0, 1, y, 0, 1)
			if err == nil {
				_, err = comm.Sendrecv(c, whole, 0, 1, y, 0, 1)
			}
			return err
		}},
		"reduce":          {inPlace, func(y []int32) error { return comm.Reduce(c, whole, y, sum, 0) }},
		"ireduce":         {inPlace, func(y []int32) error { return wait(comm.Ireduce(c, whole, y, sum, 0)) }},
		"allreduce":       {inPlace, func(y []int32) error { return comm.Allreduce(c, whole, y, sum) }},
		"iallreduce":      {inPlace, func(y []int32) error { return wait(comm.Iallreduce(c, whole, y, sum)) }},
		"scan":            {inPlace, func(y []int32) error { return comm.Scan(c, whole, y, sum) }},
		"iscan":           {inPlace, func(y []int32) error { return wait(comm.Iscan(c, whole, y, sum)) }},
		"exscan":          {inPlace, func(y []int32) error { return comm.Exscan(c, whole, y, sum) }},
		"iexscan":         {inPlace, func(y []int32) error { return wait(comm.Iexscan(c, whole, y, sum)) }},
		"reduce-scatter":  {copied, func(y []int32) error { return comm.ReduceScatter(c, whole, y, nil, sum) }},
		"ireduce-scatter": {copied, func(y []int32) error { return wait(comm.IreduceScatter(c, whole, y, nil, sum)) }},
		"gather":          {placed, func(y []int32) error { return comm.Gather(c, whole, y, 0) }},
		"igather":         {placed, func(y []int32) error { return wait(comm.Igather(c, whole, y, 0)) }},
		"gatherv":         {placed, func(y []int32) error { return comm.Gatherv(c, whole, [][]int32{y}, 0) }},
		"igatherv":        {placed, func(y []int32) error { return wait(comm.Igatherv(c, whole, [][]int32{y}, 0)) }},
		"allgather":       {placed, func(y []int32) error { return comm.Allgather(c, whole, y) }},
		"iallgather":      {placed, func(y []int32) error { return wait(comm.Iallgather(c, whole, y)) }},
		"allgatherv":      {placed, func(y []int32) error { return comm.Allgatherv(c, whole, [][]int32{y}) }},
		"iallgatherv":     {placed, func(y []int32) error { return wait(comm.Iallgatherv(c, whole, [][]int32{y})) }},
		"scatter":         {kept, func(y []int32) error { return comm.Scatter(c, whole, y, 0) }},
		"iscatter":        {kept, func(y []int32) error { return wait(comm.Iscatter(c, whole, y, 0)) }},
		"scatterv":        {kept, func(y []int32) error { return comm.Scatterv(c, parts, y, 0) }},
		"iscatterv":       {kept, func(y []int32) error { return wait(comm.Iscatterv(c, parts, y, 0)) }},
		"alltoall":        {copied, func(y []int32) error { return comm.Alltoall(c, whole, y) }},
		"ialltoall":       {copied, func(y []int32) error { return wait(comm.Ialltoall(c, whole, y)) }},
		"alltoallv":       {copied, func(y []int32) error { return comm.Alltoallv(c, parts, [][]int32{y}) }},
		"ialltoallv":      {copied, func(y []int32) error { return wait(comm.Ialltoallv(c, parts, [][]int32{y})) }},
	}
	for name, test := range calls {
		t.Run(name, func(t *testing.T) {
			for _, shared := range []int{1, 2} { // number of shared elements
				err := test.call(x[2-shared : 4-shared])
				require.ErrorIs(t, err, comm.ErrOverlap)
				require.ErrorContains(t, err, fmt.Sprintf("share %d bytes", 4*shared))
				require.ErrorContains(t, err, test.cure)
				require.ErrorContains(t, err, "comm/overlap_test.go:")
			}
			require.NoError(t, test.call(x[2:4]), "adjacent buffers do not overlap")
		})
	}
}

// TestOverlappingParts: received parts of different ranks may not overlap either. The same
// memory may be sent to several ranks.
func TestOverlappingParts(t *testing.T) {
	spmd(t, 3, func(c *comm.Comm) error {
		x, y := make([]int32, 8), make([]int32, 8)
		cut := func(x []int32, from ...int) (parts [][]int32) {
			for _, at := range from {
				parts = append(parts, x[at:at+2])
			}
			return parts
		}
		all, same := cut(x, 4, 0, 2), cut(y, 1, 1, 1)
		for name, call := range map[string]func() error{
			"recv[1] and recv[2] share 4 bytes": func() error { return comm.Alltoallv(c, same, cut(x, 4, 0, 1)) },
			"recv[0] and recv[2] share 8 bytes": func() error { return comm.Allgatherv(c, y[:2], cut(x, 3, 0, 3)) },
			"recv[0] and recv[1] share 4 bytes": func() error {
				if c.Rank() > 0 { // the call does not use its receive buffer
					return fmt.Errorf("recv[0] and recv[1] share 4 bytes: %w", comm.ErrOverlap)
				}
				return comm.Gatherv(c, y[:2], cut(x, 0, 1, 5), 0)
			},
			"send[1] and recv[2] share 4 bytes": func() error { return comm.Alltoallv(c, cut(x, 6, 3, 6), all) },
			"send and recv[0] share 4 bytes":    func() error { return comm.Allgatherv(c, x[5:7], all) },
			"send[2] and recv share 8 bytes": func() error {
				if c.Rank() > 0 { // the call does not use its send buffer
					return fmt.Errorf("send[2] and recv share 8 bytes: %w", comm.ErrOverlap)
				}
				return comm.Scatterv(c, all, x[2:4], 0)
			},
		} {
			if err := want(containsError(call(), comm.ErrOverlap, name), name); err != nil {
				return err
			}
		}
		if err := comm.Alltoallv(c, same, all); err != nil {
			return err
		}
		if err := comm.Allgatherv(c, nil, all); err != nil {
			return err
		}
		none := [][]int32{x[:0], x[:0], x[:0]}
		if err := comm.Alltoallv(c, none, none); err != nil {
			return fmt.Errorf("empty buffers overlap nothing: %w", err)
		}
		// Only the root uses these arguments, so other ranks may pass anything.
		if c.Rank() > 0 {
			if err := comm.Gather(c, x[:2], x, 0); err != nil {
				return err
			}
			if err := comm.Scatter(c, x, x[:2], 0); err != nil {
				return err
			}
			return comm.Reduce(c, x, x, comm.Sum, 0)
		}
		if err := comm.Gather(c, x[:2], y[:6], 0); err != nil {
			return err
		}
		if err := comm.Scatter(c, y[:6], nil, 0); err != nil {
			return err
		}
		return comm.Reduce(c, nil, x, comm.Sum, 0)
	})
}

// TestSendrecvReplace: the call sends the old contents, in whatever order messages arrive.
func TestSendrecvReplace(t *testing.T) {
	for _, n := range []int{0, 1, 20_000} { // the last one is handed over without a copy
		spmd(t, 3, func(c *comm.Comm) error {
			next, prev := (c.Rank()+1)%3, (c.Rank()+2)%3
			x := make([]int, n)
			for i := range x {
				x[i] = c.Rank()*n + i
			}
			for turn := range 4 {
				st, err := comm.SendrecvReplace(c, x, next, 7, prev, 7)
				if err != nil {
					return err
				}
				if err := want(st == comm.Status{Source: prev, Tag: 7, Count: n}, "status"); err != nil {
					return err
				}
				from := (c.Rank() + 3 - (turn+1)%3) % 3
				for i := range x {
					if x[i] != from*n+i {
						return fmt.Errorf("turn %d: element %d is %d, want %d", turn, i, x[i], from*n+i)
					}
				}
			}
			before := append([]int(nil), x...)
			st, err := comm.SendrecvReplace(c, x, comm.ProcNull, 7, comm.ProcNull, 7)
			if err != nil {
				return err
			}
			return want(st.Source == comm.ProcNull && fmt.Sprint(before) == fmt.Sprint(x), "the buffer is unchanged")
		})
	}
	_, err := comm.SendrecvReplace(comm.Self(), []*int{nil}, 0, 0, 0, 0)
	require.ErrorIs(t, err, comm.ErrType)
}

// containsError reports whether an error wraps target and contains a text.
func containsError(err, target error, text string) bool {
	return errors.Is(err, target) && strings.Contains(err.Error(), text)
}
