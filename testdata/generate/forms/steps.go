//go:build !intra

// This comment stands before the package clause.

package forms

import (
	"math"

	kern "github.com/intrahpc/intra/testdata/generate/ions"

	"github.com/intrahpc/intra"
)

//go:generate echo this line is not in the twin

// Simulation holds a process.
type Simulation struct {
	P    *intra.Process
	Sums [3]float64
}

// Steps runs everything and returns what it computed.
func (s *Simulation) Steps(n int) []float64 {
	x, y := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i] = 1 + 1/float64(i+2)
	}
	g := &Grid{N: n, Z: y, Next: &Grid{Z: x}}

	/* A block comment. */
	//intra:section on(s.P)
	for lo, hi := range intra.Blocks(n, s.P.Tasks()) {
		g.relax(lo, hi, make([]float64, hi-lo))
	}

	w := Wrapped{Grid: &Grid{Z: make([]float64, n), Next: g}, Scale: Scale{2}}
	var top, small, prod = 0.0, math.Inf(1), 1.0
	r := Range{math.Inf(1), math.Inf(-1)}

	//intra:section on(s.P) sched(static) keep
	for lo, hi := range intra.Blocks(n, s.P.Tasks()) {
		// Several kinds of kernels in one section.
		w.relax(lo, hi, make([]float64, n))
		top = max(top, w.Norm(x[lo:hi]))
		small = min(small, least(x[lo:hi]))
		prod *= product(x[lo:hi]) // a trailing comment
		r = join(r, bounds(x[lo:hi]))
	}

	ptr := &w.Scale
	z := make([]float64, n)
	v := &Vec[float64]{Data: make([]float64, n)}
	var c1, c2 int64
	var a1, a2 [2]float64

	//intra:section on(s.P)
	{
		half := n / 2
		axpy(2, x[:half], z[:half])
		axpy[float64, []float64](3, x[half:], z[half:])
		switch {
		case n > 4:
			v.Fill(3, 0, half)
			v.Fill(4, half, n)
		default:
			v.Fill(5, 0, n)
		}
		s.Sums[0] = mean(x[:half], "ab")
		(s.Sums[1]) = mean(x[half:], "")
		s.Sums[2] += kern.Energy(x)
		count(x, 2, 0.5, &c1, &a1)
		count(x, 3, 1.5, &c2, &a2)
		if ptr != nil {
			top = max(top, ptr.Norm(x))
		}
	}

	u := make([]float64, n)
	box := &Box{Dt: 0.5}
	box.Sub.A = 7
	ps := []Particle{{1, 2, 3}, {4, 5, 6}}
	list := []float64{1, 2, 3}
	q := make([]float64, n)

	f := func(p *intra.Process) {
		//intra:section
	outer:
		for lo, hi := range intra.Blocks(n, 4) {
			for k := range 3 {
				if k == 2 {
					continue outer
				}
				if k == 1 {
					window(x, u, lo, hi-lo)
				}
			}
		}
		//intra:section on(p)
		{
			box.move(1, ps)
			variadic(3, list...)
			apply(math.Sqrt, x, q)
		}
	}
	f(s.P)

	ions := kern.New(n)
	//intra:section on(s.P) sched(adaptive)
	for lo, hi := range intra.Blocks(n, s.P.Tasks()) {
		ions.Push(0.1, lo, hi)
		/* between */
	} // after the section

	var out []float64
	for _, part := range [][]float64{x, y, w.Z, z, v.Data, s.Sums[:], a1[:], a2[:], u, box.Seen[:], list, q, ions.Psi} {
		out = append(out, part...)
	}
	return append(out, top, small, prod, r.Lo, r.Hi, float64(c1), float64(c2), box.Sub.B, ps[0].X, ps[1].X)
}

// Boxes launches one task for another box in each section. The launchers use the memory of the
// launches before again, which lead to other boxes.
func Boxes(p *intra.Process) []float64 {
	boxes := make([]Box, 5)
	for i := range boxes {
		boxes[i].Dt = float64(i + 1)
		boxes[i].Sub.A = float64(10 * (i + 1))
	}
	var out []float64
	last := &boxes[4]
	for i := range 4 {
		next, ps := &boxes[i], []Particle{{V: 1}}
		//intra:section on(p)
		{
			next.move(0, ps)
			last.move(1, nil)
		}
		out = append(out, ps[0].X)
	}
	for _, b := range boxes {
		out = append(out, b.Seen[0], b.Seen[1], b.Sub.B)
	}
	return out
}
