package comm_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/testkit/commtest"
	"github.com/intrahpc/intra/internal/testkit/sdrtest"
	"github.com/intrahpc/intra/transport/sdr"
)

// The conformance suite calls every collective with elements of every class, and compares
// the results with a serial oracle. The oracle works because every rank can compute the
// input of all ranks.

// class is a type of elements. It defines the element of rank r at index i, and an
// associative operator whose result is exact in any grouping.
type class[T comparable] struct {
	name string
	gen  func(r, i int) T
	op   func(a, b T) T
}

func (k class[T]) vector(r, n int) []T {
	v := make([]T, n)
	for i := range v {
		v[i] = k.gen(r, i)
	}
	return v
}

// fold is the oracle of reductions: it combines the elements of ranks lo to hi-1 from left
// to right.
func (k class[T]) fold(lo, hi, n int) []T {
	acc := k.vector(lo, n)
	for r := lo + 1; r < hi; r++ {
		for i := range acc {
			acc[i] = k.op(acc[i], k.gen(r, i))
		}
	}
	return acc
}

type pixel [3]int16

func differ[T comparable](what string, got, want []T) error {
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			return fmt.Errorf("%s: element %d of %d: %v, want %v", what, i, len(want), got[min(i, len(got)-1)], want[i])
		}
	}
	if len(got) != len(want) {
		return fmt.Errorf("%s: %d elements, want %d", what, len(got), len(want))
	}
	return nil
}

// conform runs all collectives, blocking and non-blocking, on vectors of n
// elements.
func conform[T comparable](c *comm.Comm, k class[T], n int) error {
	size, me := c.Size(), c.Rank()
	own := k.vector(me, n)
	var all, none []T
	parts := func() [][]T { // the v forms get i%3+n/2 elements from rank i
		p := make([][]T, size)
		for i := range p {
			p[i] = make([]T, i%3+n/2)
		}
		return p
	}
	var wantParts [][]T
	for r := range size {
		all = append(all, k.vector(r, n)...)
		wantParts = append(wantParts, k.vector(r, r%3+n/2))
	}
	ownPart := wantParts[me]
	fold := k.fold(0, size, n)
	root := (n + 1) % size
	at := func(r int, got, want []T) []T { // only the root has a result
		if me == r {
			return want
		}
		return got
	}
	flat := func(p [][]T) []T { return slices.Concat(p...) }
	counts := make([]int, size)
	var scatterIn []T
	for r := range size {
		counts[r] = r%3 + n/2
		scatterIn = append(scatterIn, k.vector(me+r, counts[r])...)
	}
	scatterWant := func() []T {
		var acc []T
		for r := range size {
			v := k.vector(r+me, counts[me])
			if r == 0 {
				acc = v
				continue
			}
			for i := range acc {
				acc[i] = k.op(acc[i], v[i])
			}
		}
		return acc
	}()
	toAll, fromAll := make([]T, n*size), make([]T, n*size)
	toParts, fromParts := parts(), parts()
	for r := range size {
		copy(toAll[r*n:], k.vector(me*size+r, n))
		copy(fromAll[r*n:], k.vector(r*size+me, n))
		toParts[r] = k.vector(me*size+r, (me+r)%4)
		fromParts[r] = k.vector(r*size+me, (me+r)%4)
	}
	blank := func(like [][]T) [][]T {
		p := make([][]T, len(like))
		for i := range p {
			p[i] = make([]T, len(like[i]))
		}
		return p
	}

	tests := []struct {
		name string
		run  func(blocking bool) (got, want []T, err error)
	}{
		{"bcast", func(b bool) ([]T, []T, error) {
			v := make([]T, n)
			if me == root {
				copy(v, own)
			}
			err := either(b, func() error { return comm.Bcast(c, v, root) }, func() *comm.Request { return comm.Ibcast(c, v, root) })
			return v, k.vector(root, n), err
		}},
		{"reduce", func(b bool) ([]T, []T, error) {
			v := make([]T, n)
			err := either(b, func() error { return comm.Reduce(c, own, v, k.op, root) }, func() *comm.Request { return comm.Ireduce(c, own, v, k.op, root) })
			return v, at(root, v, fold), err
		}},
		{"allreduce", func(b bool) ([]T, []T, error) {
			v := make([]T, n)
			err := either(b, func() error { return comm.Allreduce(c, own, v, k.op) }, func() *comm.Request { return comm.Iallreduce(c, own, v, k.op) })
			return v, fold, err
		}},
		{"allreduce in place", func(b bool) ([]T, []T, error) {
			v := slices.Clone(own)
			err := either(b, func() error { return comm.Allreduce(c, nil, v, k.op) }, func() *comm.Request { return comm.Iallreduce(c, nil, v, k.op) })
			return v, fold, err
		}},
		{"gather", func(b bool) ([]T, []T, error) {
			var v []T
			if me == root {
				v = make([]T, n*size)
			}
			err := either(b, func() error { return comm.Gather(c, own, v, root) }, func() *comm.Request { return comm.Igather(c, own, v, root) })
			return v, at(root, v, all), err
		}},
		{"gatherv", func(b bool) ([]T, []T, error) {
			var v [][]T
			if me == root {
				v = parts()
			}
			err := either(b, func() error { return comm.Gatherv(c, ownPart, v, root) }, func() *comm.Request { return comm.Igatherv(c, ownPart, v, root) })
			return flat(v), at(root, flat(v), flat(wantParts)), err
		}},
		{"allgather", func(b bool) ([]T, []T, error) {
			v := make([]T, n*size)
			err := either(b, func() error { return comm.Allgather(c, own, v) }, func() *comm.Request { return comm.Iallgather(c, own, v) })
			return v, all, err
		}},
		{"allgather in place", func(b bool) ([]T, []T, error) {
			v := make([]T, n*size)
			copy(v[me*n:], own)
			err := either(b, func() error { return comm.Allgather(c, nil, v) }, func() *comm.Request { return comm.Iallgather(c, nil, v) })
			return v, all, err
		}},
		{"allgatherv", func(b bool) ([]T, []T, error) {
			v := parts()
			err := either(b, func() error { return comm.Allgatherv(c, ownPart, v) }, func() *comm.Request { return comm.Iallgatherv(c, ownPart, v) })
			return flat(v), flat(wantParts), err
		}},
		{"scatter", func(b bool) ([]T, []T, error) {
			v, from := make([]T, n), none
			if me == root {
				from = all
			}
			err := either(b, func() error { return comm.Scatter(c, from, v, root) }, func() *comm.Request { return comm.Iscatter(c, from, v, root) })
			return v, own, err
		}},
		{"scatterv", func(b bool) ([]T, []T, error) {
			v := make([]T, len(ownPart))
			var from [][]T
			if me == root {
				from = wantParts
			}
			err := either(b, func() error { return comm.Scatterv(c, from, v, root) }, func() *comm.Request { return comm.Iscatterv(c, from, v, root) })
			return v, ownPart, err
		}},
		{"alltoall", func(b bool) ([]T, []T, error) {
			v := make([]T, n*size)
			err := either(b, func() error { return comm.Alltoall(c, toAll, v) }, func() *comm.Request { return comm.Ialltoall(c, toAll, v) })
			return v, fromAll, err
		}},
		{"alltoallv", func(b bool) ([]T, []T, error) {
			v := blank(fromParts)
			err := either(b, func() error { return comm.Alltoallv(c, toParts, v) }, func() *comm.Request { return comm.Ialltoallv(c, toParts, v) })
			return flat(v), flat(fromParts), err
		}},
		{"scan", func(b bool) ([]T, []T, error) {
			v := make([]T, n)
			err := either(b, func() error { return comm.Scan(c, own, v, k.op) }, func() *comm.Request { return comm.Iscan(c, own, v, k.op) })
			return v, k.fold(0, me+1, n), err
		}},
		{"exscan", func(b bool) ([]T, []T, error) {
			v := k.vector(99, n)
			want := v
			if me > 0 {
				want = k.fold(0, me, n)
			} else {
				want = slices.Clone(v)
			}
			err := either(b, func() error { return comm.Exscan(c, own, v, k.op) }, func() *comm.Request { return comm.Iexscan(c, own, v, k.op) })
			return v, want, err
		}},
		{"reduce-scatter", func(b bool) ([]T, []T, error) {
			v := make([]T, counts[me])
			err := either(b, func() error { return comm.ReduceScatter(c, scatterIn, v, counts, k.op) }, func() *comm.Request { return comm.IreduceScatter(c, scatterIn, v, counts, k.op) })
			return v, scatterWant, err
		}},
		{"barrier", func(b bool) ([]T, []T, error) {
			return nil, nil, either(b, c.Barrier, c.Ibarrier)
		}},
	}
	for _, test := range tests {
		for _, blocking := range []bool{true, false} {
			what := fmt.Sprintf("%s of %d %s, %d ranks, blocking %v", test.name, n, k.name, size, blocking)
			got, want, err := test.run(blocking)
			if err == nil {
				err = differ(what, got, want)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
		}
	}
	return nil
}

func either(blocking bool, call func() error, begin func() *comm.Request) error {
	if blocking {
		return call()
	}
	_, err := begin().Wait()
	return err
}

var (
	floats = []class[float64]{
		{"float64 sum", func(r, i int) float64 { return float64(r*100 + i) }, comm.Sum[float64]},
		{"float64 max", func(r, i int) float64 { return float64((r*7+i*3)%11) - 5.5 }, comm.Max[float64]},
		{"float64 min", func(r, i int) float64 { return float64((r*7+i*3)%11) - 5.5 }, comm.Min[float64]},
	}
	int32s = class[int32]{"int32 prod", func(r, i int) int32 { return int32(r*5 + i + 3) }, comm.Prod[int32]}
	bytes  = class[uint8]{"uint8 sum", func(r, i int) uint8 { return uint8(r*50 + i) }, comm.Sum[uint8]}
	cplx   = class[complex128]{"complex128 sum", func(r, i int) complex128 { return complex(float64(r), float64(i)) }, comm.Sum[complex128]}
	maps   = class[commtest.Affine]{"maps, not commutative", func(r, i int) commtest.Affine { return commtest.Affine{A: uint64(r + 2), B: uint64(i*3 + r)} }, commtest.Compose}
	pixels = class[pixel]{"pixels", func(r, i int) pixel { return pixel{int16(r), int16(i), 7} }, func(a, b pixel) pixel { return pixel{a[0] + b[0], max(a[1], b[1]), b[2]} }}
	bools  = class[bool]{"bool and", func(r, i int) bool { return (r+i)%3 != 0 }, func(a, b bool) bool { return a && b }}
)

// suite runs conform with all classes and sizes on c.
func suite(c *comm.Comm, sizes []int) error {
	for _, n := range sizes {
		for _, k := range floats {
			if err := conform(c, k, n); err != nil {
				return err
			}
		}
		err := conform(c, int32s, n)
		if err == nil {
			err = conform(c, bytes, n)
		}
		if err == nil {
			err = conform(c, cplx, n)
		}
		if err == nil {
			err = conform(c, maps, n)
		}
		if err == nil {
			err = conform(c, pixels, n)
		}
		if err == nil {
			err = conform(c, bools, n)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// onParts runs the suite on two parts of c with their ranks reversed, and on a duplicate.
func onParts(c *comm.Comm, sizes []int) error {
	half, err := c.Split(c.Rank()%2, -c.Rank())
	if err != nil {
		return err
	}
	if err := suite(half, sizes); err != nil {
		return fmt.Errorf("half: %w", err)
	}
	dup, err := c.Dup()
	if err != nil {
		return err
	}
	if err := suite(dup, sizes[:1]); err != nil {
		return fmt.Errorf("dup: %w", err)
	}
	if err := half.Free(); err != nil {
		return err
	}
	return dup.Free()
}

// TestConformance runs the suite over simulated links with random delays.
func TestConformance(t *testing.T) {
	for _, test := range []struct {
		degrees []int
		mirror  bool
		kills   []sdrtest.Kill
		sizes   []int
	}{
		{degrees: []int{1}, sizes: []int{0, 1, 5, 3000}},
		{degrees: []int{1, 1}, sizes: []int{0, 1, 5, 3000}},
		{degrees: []int{1, 1, 1}, sizes: []int{0, 1, 2, 5, 3000}},
		{degrees: []int{1, 1, 1, 1}, sizes: []int{1, 9000}},
		{degrees: []int{1, 1, 1, 1, 1}, sizes: []int{0, 3, 700, 9000}},
		{degrees: []int{1, 1, 1, 1, 1, 1, 1}, sizes: []int{1, 5000}},
		{degrees: slices.Repeat([]int{1}, 11), sizes: []int{1, 64}},
		{degrees: []int{2, 2, 2}, sizes: []int{0, 1, 5, 3000}},
		{degrees: []int{2, 1, 3, 2, 1}, sizes: []int{0, 3, 5000}},
		{degrees: []int{3, 2, 1, 2}, sizes: []int{2, 3000}, mirror: true},
		{degrees: []int{2, 2, 3, 1, 2}, sizes: []int{1, 3000}, kills: []sdrtest.Kill{
			{Rank: 0, Replica: 1, Point: sdrtest.AtMessage, Count: 100},
			{Rank: 2, Replica: 0, Point: sdrtest.AtFrame, Count: 300},
			{Rank: 2, Replica: 1, Point: sdrtest.AtMessage, Count: 500},
			{Rank: 4, Replica: 0, Point: sdrtest.AtStep, Count: 3000}}},
	} {
		t.Run(fmt.Sprint(test.degrees, test.mirror, test.kills), func(t *testing.T) {
			t.Parallel()
			job := sdrtest.Job{Degrees: test.degrees, Mirror: test.mirror, Kills: test.kills, Seed: 7, Steps: 20_000_000}
			res, err := job.Run(func(p *sdrtest.Process) error {
				c, err := comm.World(p.Engine)
				if err == nil {
					err = suite(c, test.sizes)
				}
				if err == nil && len(test.degrees) < 6 {
					err = onParts(c, test.sizes[:1])
				}
				return err
			})
			require.NoError(t, err)
			require.NoError(t, res.Err())
			require.Equal(t, len(test.kills), res.Fired)
		})
	}
}

// TestReductionBits: a reduction of floating-point numbers has the same bits at every
// degree and after any deaths. The test also compares the sum of one element on four ranks
// with fixed bits.
func TestReductionBits(t *testing.T) {
	const n = 10_001
	gen := func(r, i int) float64 { return 1 / (float64(r*n+i) + 0.1) }
	run := func(degrees []int, kills ...sdrtest.Kill) map[int][]float64 {
		out := make(map[int][]float64)
		job := sdrtest.Job{Degrees: degrees, Seed: 3, Kills: kills, Limits: sdr.Limits{Eager: 4096}}
		res, err := job.Run(func(p *sdrtest.Process) error {
			c, err := comm.World(p.Engine)
			if err != nil {
				return err
			}
			v := make([]float64, n)
			for i := range v {
				v[i] = gen(c.Rank(), i)
			}
			var sums []float64
			for _, k := range []int{1, 100, n} {
				s := slices.Clone(v[:k])
				if err := comm.Allreduce(c, nil, s, comm.Sum); err != nil {
					return err
				}
				sums = append(sums, s...)
				if err := sameEverywhere(c, s); err != nil {
					return err
				}
				r := make([]float64, k)
				if err := comm.Reduce(c, v[:k], r, comm.Sum, 1); err != nil {
					return err
				}
				if c.Rank() == 1 {
					sums = append(sums, r...)
				}
			}
			if old, ok := out[p.Rank]; ok {
				if err := differ("replicas", sums, old); err != nil {
					return err
				}
			}
			out[p.Rank] = sums
			return nil
		})
		require.NoError(t, err)
		require.NoError(t, res.Err())
		return out
	}
	want := run([]int{1, 1, 1, 1})
	t0, t1, t2, t3 := gen(0, 0), gen(1, 0), gen(2, 0), gen(3, 0)
	require.Equal(t, (t0+t1)+(t2+t3), want[0][0])
	require.Equal(t, want, run([]int{2, 2, 2, 2}))
	require.Equal(t, want, run([]int{2, 1, 3, 1}, sdrtest.Kill{Rank: 0, Replica: 0, Point: sdrtest.AtMessage, Count: 5}, sdrtest.Kill{Rank: 2, Replica: 2, Point: sdrtest.AtFrame, Count: 9}))
}

// An element's sum has the same bits in a short vector and in a long one, although their
// algorithms differ.
func TestReductionBitsAtAnyLength(t *testing.T) {
	for ranks := 2; ranks <= 6; ranks++ {
		job := sdrtest.Job{Degrees: slices.Repeat([]int{1}, ranks), Seed: 3}
		res, err := job.Run(func(p *sdrtest.Process) error {
			c, err := comm.World(p.Engine)
			if err != nil {
				return err
			}
			var first []float64
			for _, n := range []int{1, 128, 129, 10_000} {
				v := slices.Repeat([]float64{1 / (float64(c.Rank()) + 0.1)}, n)
				if err := comm.Allreduce(c, nil, v, comm.Sum); err != nil {
					return err
				}
				first = append(first, v[0], v[n-1])
			}
			return differ("sums in a long and in a short vector", first, slices.Repeat(first[:1], len(first)))
		})
		require.NoError(t, err)
		require.NoError(t, res.Err())
	}
}

// sameEverywhere checks that all ranks have the same bits.
func sameEverywhere(c *comm.Comm, v []float64) error {
	root := slices.Clone(v)
	if err := comm.Bcast(c, root, 0); err != nil {
		return err
	}
	return differ("allreduce at two ranks", v, root)
}
