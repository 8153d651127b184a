package main

import (
	"fmt"
	"math"
	"math/cmplx"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/examples/npb/internal/nas"
)

// benchmark is the whole run on one rank.
//
//intra:state skip(of, tx, ty, tz, planes, columns, packed)
type benchmark struct {
	nas.Run
	of         problem
	tx, ty, tz *fourier

	planes  []complex128 // planes of the rank: by z, y and x
	columns []complex128 // columns of the rank: by z, y and x
	packed  []complex128 // the planes, in the order of the ranks that own the columns

	waves []complex128 // transform of the field, in columns
	sums  []complex128 // result of each iteration
}

func newBenchmark(run nas.Run, of problem) (*benchmark, error) {
	if err := run.Set.Ranks("FT", run.P.Size(), min(of.ny, of.nz)); err != nil {
		return nil, err
	}
	b := &benchmark{Run: run, of: of, tx: newFourier(of.nx), ty: newFourier(of.ny), tz: newFourier(of.nz)}
	n := of.points() / b.P.Size()
	b.waves, b.columns = intra.Alloc[complex128](n), intra.Alloc[complex128](n)
	if b.planes = b.columns; b.P.Size() > 1 {
		b.planes, b.packed = intra.Alloc[complex128](n), make([]complex128, n)
	}
	b.Protect(b.P, "ft")
	return b, nil
}

// Measure carries out all iterations. Before that it carries out an additional first
// transform, which is not timed.
func (b *benchmark) Measure() (*result, error) {
	if err := b.Do(len(b.of.sums), b.begin, b.step); err != nil {
		return nil, err
	}
	r := &result{}
	r.Verified = true
	for i, sum := range b.sums {
		want := b.of.sums[i]
		r.Checksums = append(r.Checksums, [2]float64{real(sum), imag(sum)})
		r.Verified = r.Verified && cmplx.Abs((sum-want)/want) <= tolerance
	}
	return r, nil
}

// step carries out the next iteration.
func (b *benchmark) step() error {
	if b.Done == 0 {
		if err := b.begin(); err != nil {
			return err
		}
	}
	if err := b.iterate(); err != nil {
		return err
	}
	sum := b.sums[b.Done]
	b.Tell("iteration %3d  checksum %.12e %.12e\n", b.Done+1, real(sum), imag(sum))
	return nil
}

// begin fills the field and transforms it.
func (b *benchmark) begin() error {
	b.fill()
	b.transformPlanes()
	if err := b.toColumns(); err != nil {
		return err
	}
	b.transformColumns()
	return nil
}

// iterate computes the field a time step later, and its sum.
func (b *benchmark) iterate() error {
	step := float64(len(b.sums) + 1)
	columns := b.of.ny / b.P.Size()
	b.dampColumns(damping(step, b.of.nx), damping(step, b.of.ny)[b.P.Rank()*columns:][:columns], damping(step, b.of.nz))
	if err := b.toPlanes(); err != nil {
		return err
	}
	b.transformPlanes()
	sum, err := comm.AllreduceValue(b.P.World(), b.sum(), comm.Sum)
	if err != nil {
		return fmt.Errorf("add up the points: %w", err)
	}
	n := float64(b.of.points())
	b.sums = append(b.sums, complex(real(sum)/n, imag(sum)/n))
	return nil
}

// damping returns the factors by which a time damps each of n waves along an axis. The
// second half of the waves have negative wave numbers.
func damping(time float64, n int) []float64 {
	const alpha = 1e-6
	f := make([]float64, n)
	for k := range f {
		wave := (k+n/2)%n - n/2
		f[k] = math.Exp(-4 * alpha * math.Pi * math.Pi * time * float64(wave*wave))
	}
	return f
}

// sum returns the sum of those of 1024 points of the field that are on this rank. The
// second transform has the same direction as the first instead of the opposite one, which
// negates all positions.
func (b *benchmark) sum() (sum complex128) {
	negate := func(at, n int) int { return (n - at%n) % n }
	of, planes := b.of, b.of.nz/b.P.Size()
	for j := 1; j <= 1024; j++ {
		x, y, z := negate(j, of.nx), negate(3*j, of.ny), negate(5*j, of.nz)-b.P.Rank()*planes
		if z >= 0 && z < planes {
			sum += b.planes[(z*of.ny+y)*of.nx+x]
		}
	}
	return sum
}
