// Package forms uses every form in which kernels can be written and called.
package forms

//go:generate go tool intragen

import "math"

// Grid is a field with a companion.
type Grid struct {
	N    int
	Z, V []float64
	Hits [4]int64
	Next *Grid
}

// relax smooths a part of z, reading the companion's.
//
//intra:task in(g, lo, hi) out(g.Z[lo:hi]) scratch(tmp)
func (g *Grid) relax(lo, hi int, tmp []float64) {
	w := g.Z[lo:hi]
	copy(tmp, g.Next.Z[lo:hi])
	for i := range w {
		w[i] = 0.5 * tmp[i]
	}
}

// Norm is a method with a value receiver and a result.
//
//intra:task in(s, x) reduce(max: m)
func (s Scale) Norm(x []float64) (m float64) {
	for _, v := range x {
		m = max(m, math.Abs(v)*s.F)
	}
	return m
}

// Scale is a factor.
type Scale struct{ F float64 }

// Wrapped embeds a grid.
type Wrapped struct {
	*Grid
	Scale
}

// axpy is generic.
//
//intra:task in(a, x) inout(y)
func axpy[T ~float32 | ~float64, S ~[]T](a T, x, y S) {
	for i, v := range x {
		y[i] += T(a * v)
	}
}

// Vec is a generic type.
type Vec[T ~float32 | ~float64] struct{ Data []T }

// Fill is a method of a generic type; hi is exclusive.
//
//intra:task in(v, k, lo, hi) out(v.Data[lo:hi])
func (v *Vec[E]) Fill(k E, lo, hi int) {
	for i := lo; i < hi; i++ {
		v.Data[i] = k * E(i)
	}
}

// Range is an interval.
type Range struct{ Lo, Hi float64 }

func join(a, b Range) Range { return Range{min(a.Lo, b.Lo), max(a.Hi, b.Hi)} }

//intra:task in(x) reduce(join: r)
func bounds(x []float64) (r Range) {
	r = Range{math.Inf(1), math.Inf(-1)}
	for _, v := range x {
		r = join(r, Range{v, v})
	}
	return r
}

//intra:task in(x) reduce(min: least)
func least(x []float64) (least float64) {
	least = math.Inf(1)
	for _, v := range x {
		least = min(least, v)
	}
	return least
}

//intra:task in(x) reduce(*: prod)
func product(x []float64) (prod float64) {
	prod = 1
	for _, v := range x {
		prod *= v
	}
	return prod
}

//intra:task in(x, s) out(mean)
func mean(x []float64, s string) (mean float64) {
	for _, v := range x {
		mean += v
	}
	return mean / float64(len(x)+len(s))
}

// count has names that collide with what its launcher needs.
//
//intra:task in(intra, s, taskCount) out(count, cell)
func count(intra []float64, s int, taskCount float64, count *int64, cell *[2]float64) {
	*count = int64(len(intra) * s)
	cell[0], cell[1] = taskCount, intra[0]
}

const halo = 1

//intra:task in(x, lo, n) out(y[lo-halo+1 : (lo+n)])
func window(x, y []float64, lo, n int) {
	for i := range n {
		y[lo+i] = x[lo+i] + 1
	}
}

// Particle is pointer-free.
type Particle struct {
	X, V float64
	ID   int32
}

// Box is pointer-free too, with a part that is written.
type Box struct {
	Dt   float64
	Seen [2]float64
	Sub  struct{ A, B float64 }
}

//intra:task in(b, k) out(b.Seen[k:k+1], b.Sub.B) inout(ps)
func (b *Box) move(k int, ps []Particle) {
	b.Seen[k] = b.Sub.A
	b.Sub.B = b.Dt
	for i := range ps {
		ps[i].X += ps[i].V * b.Dt
	}
}

//intra:task in(scale) inout(lists)
func variadic(scale float64, lists ...float64) {
	for i := range lists {
		lists[i] *= scale
	}
}

//intra:task in(fn, x) out(y)
func apply(fn func(float64) float64, x, y []float64) {
	for i, v := range x {
		y[i] = fn(v)
	}
}
