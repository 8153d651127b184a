// Package fused has kernels whose second bodies are wrong.
package fused

import "time"

func copyTo(x, y, y2 []float64) {
	copy(y, x)
	copy(y2, x)
}

//intra:task in(x) out(y) fused(copyTa)
func unknown(x, y []float64) { copy(y, x) }

var total float64

//intra:task in(x) out(y) fused(total)
func variable(x, y []float64) { copy(y, x) }

//intra:task in(n, x) out(y) fused(copyTo)
func signature(n int, x, y []float64) { copy(y, x[:n]) }

//intra:task in(x) out(y) fused(copyTo)
func element(x, y []float32) { copy(y, x) }

func variadicTo(x, y []float64, y2 ...float64) {}

//intra:task in(x) out(y) fused(variadicTo)
func variadic(x, y []float64) { copy(y, x) }

func resultTo(x, y, y2 []float64) (n int) { return }

//intra:task in(x) out(y) fused(resultTo)
func result(x, y []float64) { copy(y, x) }

func ordered[T int | string](x, y, y2 []T) {}

//intra:task in(x) out(y) fused(ordered)
func constraint[T int | float64](x, y []T) { copy(y, x) }

//intra:task in(x) out(y) fused(ordered)
func generic(x, y []int) { copy(y, x) }

//intra:task in(x) out(y, z) fused(copyTo)
func two(x, y, z []float64) { copy(y, copyOf(x, z)) }

func copyOf(x, z []float64) []float64 { copy(z, x); return x }

//intra:task in(x) out(y) reduce(+: sum) fused(copyTo)
func andResult(x, y []float64) (sum float64) { copy(y, x); return x[0] }

//intra:task in(x) fused(copyTo)
func none(x []float64) {}

//intra:task in(x) reduce(+: sum) fused(copyTo)
func sums(x []float64) (sum float64) { return x[0] }

//intra:task in(x) out(v) fused(copyTo)
func pointer(x []float64, v *float64) { *v = x[0] }

//intra:task in(x) inout(y) fused(copyTo)
func both(x, y []float64) { y[0] += x[0] }

//intra:task in(x) out(y) fused(copyTo) fused(copyTo)
func twice(x, y []float64) { copy(y, x) }

//intra:task in(x) out(y) fused(copyTo, copyTo)
func list(x, y []float64) { copy(y, x) }

//intra:task in(x) out(y) fused(kernels.CopyTo)
func elsewhere(x, y []float64) { copy(y, x) }

//intra:task in(x) out(y) fused()
func empty(x, y []float64) { copy(y, x) }

//intra:task in(x) out(y) fused(taggedTo)
func tagged(x, y []float64) { copy(y, x) }

type grid struct{ u, v []float64 }

type deep struct{ grid }

//intra:task in(g) out(g.v) fused(moveTo)
func (g *grid) copy() { copy(g.v, g.u) }

func (g grid) copyTo(v2 []float64) { copy(g.v, g.u) }

//intra:task in(g) out(g.v) fused(copyTo)
func (g *grid) move() { copy(g.v, g.u) }

//intra:task in(d) out(d.grid.v) fused(copyTo)
func (d deep) move() { copy(d.grid.v, d.grid.u) }

// The second bodies below break the clauses of their kernels.

func writesTo(x, w, w2 []float64) {
	for i := range w {
		w[i], w2[i] = 1, 1
		x[i] = 0
	}
}

//intra:task in(x) out(y) fused(writesTo)
func writes(x, y []float64) { copy(y, x) }

func readsTo(x, y, y2 []float64) {
	for i, v := range x {
		y2[i] += v
		y[i] += v
	}
}

//intra:task in(x) out(y) fused(readsTo)
func reads(x, y []float64) { copy(y, x) }

func neverTo(x, y, y2 []float64) { copy(y, x) }

//intra:task in(x) out(y) fused(neverTo)
func never(x, y []float64) { copy(y, x) }

func clockTo(x, y, y2 []float64) {
	copy(y, x)
	copy(y2, x)
	y2[0] = float64(time.Now().Unix())
	total++
}

//intra:task in(x) out(y) fused(clockTo)
func clock(x, y []float64) { copy(y, x) }

// What is wrong with a kernel's own clauses is said without a word about its
// second body, and the cure keeps it.

//intra:task in(x) fused(copyTo)
func missing(x, y []float64) { copy(y, x) }
