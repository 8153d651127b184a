// Package fused has kernels with second bodies, which store their results
// twice.
package fused

//go:generate go tool intragen

// waxpby computes w = alpha*x + beta*y; ran is told which body runs.
//
//intra:task in(ran, alpha, x, beta, y) out(w) fused(waxpbyTo)
func waxpby(ran func(second bool), alpha float64, x []float64, beta float64, y, w []float64) {
	ran(false)
	for i := range w {
		w[i] = float64(alpha*x[i]) + float64(beta*y[i])
	}
}

// waxpbyTo is waxpby that stores its result in copied, too. Its other
// parameters have names of its own.
func waxpbyTo(ran func(second bool), a float64, x []float64, b float64, y, w, copied []float64) {
	ran(true)
	for i := range w {
		v := float64(a*x[i]) + float64(b*y[i])
		w[i], copied[i] = v, v
	}
}

// Grid holds two fields.
type Grid struct {
	U, V []float64
	Ran  func(second bool)
}

// smooth is a method that writes a part of a field.
//
//intra:task in(g, lo, hi) out(g.V[lo:hi]) fused(smoothTo)
func (g *Grid) smooth(lo, hi int) {
	g.Ran(false)
	for i := lo; i < hi; i++ {
		g.V[i] = 0.5 * (g.U[i] + g.U[max(i-1, 0)])
	}
}

func (g *Grid) smoothTo(lo, hi int, v2 []float64) {
	g.Ran(true)
	for i := lo; i < hi; i++ {
		g.V[i] = 0.5 * (g.U[i] + g.U[max(i-1, 0)])
		v2[i-lo] = g.V[i]
	}
}

// Scale is generic, and its parameters have the names that its launcher would
// like.
//
//intra:task in(scaleTo, second, s) out(float) fused(scaleTo)
func Scale[T ~float32 | ~float64, S ~[]T](scaleTo func(second bool), second T, s, float S) {
	scaleTo(false)
	for i, v := range s {
		float[i] = second * v
	}
}

func scaleTo[E ~float32 | ~float64, V ~[]E](ran func(second bool), a E, x, y, y2 V) {
	ran(true)
	for i, v := range x {
		y[i] = a * v
		y2[i] = y[i]
	}
}

// Vec is a generic type.
type Vec[T ~float32 | ~float64] struct {
	Data []T
	Ran  func(second bool)
}

// Fill is a method of a generic type.
//
//intra:task in(v, k, lo, hi) out(v.Data[lo:hi]) fused(FillTo)
func (v *Vec[E]) Fill(k E, lo, hi int) {
	v.Ran(false)
	for i := lo; i < hi; i++ {
		v.Data[i] = k * E(i)
	}
}

// FillTo is Fill that stores its result in second, too.
func (v *Vec[F]) FillTo(k F, lo, hi int, second []F) {
	v.Ran(true)
	for i := lo; i < hi; i++ {
		v.Data[i] = k * F(i)
		second[i-lo] = v.Data[i]
	}
}
