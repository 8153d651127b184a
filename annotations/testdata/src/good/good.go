package good // want package:"effects"

import (
	"math"
	"math/rand/v2"
	"slices"
	"unsafe"

	"helper"
)

// waxpby is w = alpha*x + beta*y.
//
//intra:task in(alpha, x, beta, y) out(w)
func waxpby(alpha float64, x []float64, beta float64, y, w []float64) {
	if alpha == 1 {
		for i := range w {
			w[i] = x[i] + float64(beta*y[i])
		}
		return
	}
	for i := 0; i < len(w); i++ {
		w[i] = float64(alpha*x[i]) + float64(beta*y[i])
	}
}

//intra:task in(x, y) reduce(+: sum)
func ddot(x, y []float64) (sum float64) {
	for i, v := range x {
		sum += float64(v * y[i])
	}
	return sum
}

// Matrix is stored in rows.
type Matrix struct {
	Vals [][]float64
	Cols [][]int32
}

//intra:task in(A, lo, x) out(y)
func sparsemv(A *Matrix, lo int, x, y []float64) {
	for i := range y {
		cols := A.Cols[lo+i]
		s := 0.0
		for j, v := range A.Vals[lo+i] {
			s += float64(v * x[cols[j]])
		}
		y[i] = s
	}
}

// initFirst sums into w after it has set all of it.
//
//intra:task in(x) out(w)
func initFirst(x [][]float64, w []float64) {
	for i := 0; i < len(w); i++ {
		w[i] = 0
	}
	for _, row := range x {
		for i := range w {
			w[i] += row[i]
		}
	}
}

//intra:task in(x) out(w)
func clearFirst(x, w []float64) {
	clear(w)
	for i := range x {
		w[i%len(w)] += x[i]
	}
}

//intra:task in(x) out(w)
func copyFirst(x, w []float64) {
	copy(w, x)
	slices.Sort(w)
}

// prefix reads the element that the previous iteration has written.
//
//intra:task in(x) out(w)
func prefix(x, w []float64) {
	w[0] = x[0]
	for i := 1; i < len(w); i++ {
		w[i] = w[i-1] + x[i]
	}
}

//intra:task in(a, x, y) out(w)
func viaHelper(a float64, x, y, w []float64) {
	helper.Waxpby(a, x, 1, y, w)
	helper.Axpy(a, x, w)
}

// monteCarlo has a generator of its own.
//
//intra:task in(seed, n) reduce(+: inside)
func monteCarlo(seed uint64, n int) (inside int64) {
	r := rand.New(rand.NewPCG(seed, 1))
	for range n {
		x, y := r.Float64(), r.Float64()
		if float64(x*x)+float64(y*y) < 1 {
			inside++
		}
	}
	return
}

// jacobi leaves the boundary columns alone.
//
//intra:task in(u, nx, lo, hi) out(v[lo*nx:hi*nx])
func jacobi(u, v []float64, nx, lo, hi int) {
	for i := lo; i < hi; i++ {
		for j := 1; j < nx-1; j++ {
			v[i*nx+j] = 0.25 * (u[(i-1)*nx+j] + u[(i+1)*nx+j] + u[i*nx+j-1] + u[i*nx+j+1])
		}
	}
}

// Ions is a structure of arrays.
type Ions struct {
	n    int
	z    [6][]float64
	psi  []float64
	weta []float64
	name string
}

//intra:task in(f, ions, lo, hi) inout(ions.psi[lo:hi]) out(ions.weta[lo:hi]) scratch(tmp)
func push(f *Field, ions *Ions, lo, hi int, tmp []float64) {
	for i := lo; i < hi; i++ {
		tmp[i-lo] = f.at(ions.psi[i])
		ions.psi[i] += tmp[i-lo]
		ions.weta[i] = math.Sqrt(ions.psi[i])
	}
}

type Field struct{ e []float64 }

func (f *Field) at(x float64) float64 { return f.e[int(x)%len(f.e)] }

type Grid struct {
	nx, ny int
	z      []float64
	next   *Grid
}

//intra:task in(g, lo, hi) out(g.z[lo:hi]) scratch(tmp)
func (g *Grid) relax(lo, hi int, tmp []float64) {
	w := g.z[lo:hi]
	copy(tmp, g.next.z)
	for i := range w {
		w[i] = tmp[i]
	}
}

//intra:task in(x, k) out(y)
func scale[T ~float32 | ~float64](x []T, k T, y []T) {
	for i, v := range x {
		y[i] = v * k
	}
}

//intra:task in(code, x) reduce(max: status)
func check(code int, x []float64) (status int) {
	defer func() {
		if r := recover(); r != nil {
			status = code
		}
	}()
	for _, v := range x {
		if math.IsNaN(v) {
			panic("NaN")
		}
	}
	return 0
}

//intra:task in(x) reduce(join: r)
func bounds(x []float64) (r Range) {
	r = Range{math.Inf(1), math.Inf(-1)}
	for _, v := range x {
		r = join(r, Range{v, v})
	}
	return r
}

type Range struct{ lo, hi float64 }

func join(a, b Range) Range { return Range{min(a.lo, b.lo), max(a.hi, b.hi)} }

//intra:task in(x) out(count)
//intra:task inout(p)
func lines(x []float64, count *int, p []Particle) {
	*count = 0
	for i := range p {
		p[i].x += x[i]
		p[i].cell[0]++
		*count++
	}
}

type Particle struct {
	x    float64
	cell [4]int32
}

// firstTurn sets w in the first turn of the outer loop.
//
//intra:task in(x) out(w)
func firstTurn(x [][]float64, w []float64) {
	for k, row := range x {
		for i, v := range row {
			if k == 0 {
				w[i] = v
			} else {
				w[i] += v
			}
		}
	}
}

// rows writes a slice that it cuts into rows.
//
//intra:task in(x, n) out(w)
func rows(x, w []float64, n int) {
	for i := 0; i < len(w); i += n {
		row := w[i : i+n]
		for j := range row {
			row[j] = 0
		}
		for j := range row {
			row[j] += x[i+j]
		}
	}
}

// backwards substitutes from the end.
//
//intra:task in(x) out(w)
func backwards(x, w []float64) {
	n := len(w) - 1
	w[n] = x[n]
	for i := n - 1; i >= 0; i-- {
		w[i] = x[i] - w[i+1]
	}
}

// closures and iterators are followed.
//
//intra:task in(x) out(w)
func closures(x, w []float64) {
	set := func(i int, v float64) { w[i] = v }
	for i, v := range slices.All(x) {
		set(i, v)
	}
}

var kernel = func(x, w []float64) {}

//intra:task in(x) out(w)
func dispatch(x, w []float64) { kernel(x, w) }

//intra:task in(x) out(w)
func raw(x, w []float64) {
	p := (*float64)(unsafe.Pointer(&x[0]))
	w[0] = *p
}

// This comment contains the word intra and a colon (intra:), and is no directive.
func plain() {}
