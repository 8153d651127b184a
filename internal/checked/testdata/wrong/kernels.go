// Package wrong holds kernels whose clauses are wrong. Their bodies consist
// of calls. Static analysis cannot see through these calls, so only checked
// mode finds the errors.
package wrong

//go:generate go run github.com/intrahpc/intra/cmd/intragen

// double does not name the last element of its block, which it writes.
//
//intra:task in(x, lo, hi) out(y[lo:hi-1])
func double(x, y []float64, lo, hi int) {
	for i, v := range x[lo:hi] {
		set(y, lo+i, 2*v)
	}
}

// shift does not name the element before its block, which it writes.
//
//intra:task in(lo, hi) inout(y[lo:hi])
func shift(y []float64, lo, hi int) {
	if lo > 0 {
		set(y, lo-1, at(y, lo))
	}
}

// smooth reads the last element of the block before its own, which another
// task writes.
//
//intra:task in(lo, hi) inout(y[lo:hi])
func smooth(y []float64, lo, hi int) {
	before := at(y, max(lo-1, 0))
	for i := lo; i < hi; i++ {
		before, y[i] = y[i], (before+y[i])/2
	}
}

// grow writes beyond the end of its slice.
//
//intra:task out(w)
func grow(w []float64) {
	fill(w[:min(len(w)+1, cap(w))], 7)
}

// mesh has elements that tasks access without naming them.
type mesh struct {
	name string
	z    []float64
}

// relax reads memory that other tasks write, through the receiver.
//
//intra:task in(m, lo, hi) out(m.z[lo:hi])
func (m *mesh) relax(lo, hi int) {
	right := at(m.z, hi%len(m.z))
	fill(m.z[lo:hi], right+1)
}

// norm leaves its result in its work space.
//
//intra:task in(x) scratch(work)
func norm(x, work []float64) {
	sum := 0.0
	for _, v := range x {
		sum += float64(v * v)
	}
	work[0] = sum
}

// scale multiplies x by one over the first element of s.
//
//intra:task in(s) inout(x)
func scale(s, x []float64) {
	for i := range x {
		x[i] /= s[0]
	}
}

// square is correct. The code of its section reads its results too early.
//
//intra:task in(x) out(y)
func square(x, y []float64) {
	for i, v := range x {
		y[i] = float64(v * v)
	}
}

// carry computes a running sum, starting from the sum of the block before.
//
//intra:task in(before) inout(y)
func carry(before float64, y []float64) {
	for i := range y {
		before += y[i]
		y[i] = before
	}
}

// function is called by tasks.
type function interface{ eval(x float64) float64 }

// counting keeps state from call to call.
type counting struct {
	work  []float64
	calls map[string]int
}

func (c *counting) eval(x float64) float64 {
	c.calls["eval"]++
	return square2(c.work, x)
}

// working keeps no state, only work memory.
type working struct{ work []float64 }

func (w *working) eval(x float64) float64 { return square2(w.work, x) }

func square2(work []float64, x float64) float64 {
	work[0] = x
	return float64(work[0] * x)
}

// apply does not name the state that f keeps.
//
//intra:task in(f, x) out(y)
func apply(f function, x, y []float64) {
	for i, v := range x {
		y[i] = f.eval(v)
	}
}

// model refers to its steps through pointers.
type model struct {
	name  string
	inner *struct{ steps []int }
}

func (m *model) step() { fillInts(m.inner.steps) }

func fillInts(n []int) {
	for i := range n {
		n[i]++
	}
}

// advance counts steps in memory that no clause names.
//
//intra:task in(m) out(y)
func advance(m interface{ step() }, y []float64) {
	m.step()
	clear(y)
}

func at(y []float64, i int) float64     { return y[i] }
func set(y []float64, i int, v float64) { y[i] = v }

func fill(w []float64, v float64) {
	for i := range w {
		w[i] = v
	}
}

// total adds up x.
//
//intra:task in(x) reduce(+: sum)
func total(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

// count counts the elements of x by their sign, and all elements.
//
//intra:task in(x) reduce(+: signs, all)
func count(x []float64, signs []int64, all *int32) {
	for _, v := range x {
		if v < 0 {
			signs[0]++
		} else {
			signs[1]++
		}
		*all++
	}
}

// squareInts is square for integers.
//
//intra:task in(x) out(y)
func squareInts(x, y []int) {
	for i, v := range x {
		y[i] = v * v
	}
}

// move adds by to x.
//
//intra:task in(by) inout(x)
func move(by int, x []int) {
	for i := range x {
		x[i] += by
	}
}

// shrink divides x by by.
//
//intra:task in(by) inout(x)
func shrink(by int64, x []float64) {
	for i := range x {
		x[i] /= float64(by)
	}
}

func atInt(y []int, i int) int { return y[i] }

// applyAny is apply for one type of function.
//
//intra:task in(f, x) out(y)
func applyAny[F function](f F, x, y []float64) {
	for i, v := range x {
		y[i] = f.eval(v)
	}
}

// wipe is correct.
//
//intra:task in(m, lo, hi) out(m.z[lo:hi])
func (m *mesh) wipe(lo, hi int) { clear(m.z[lo:hi]) }

// halo reads one element more than it names.
//
//intra:task in(x[lo:min(hi+1, len(x))], lo, hi) out(y)
func halo(x, y []float64, lo, hi int) {
	for i := range y {
		set(y, i, at(x, lo+i)+at(x, min(lo+i+2, len(x)-1)))
	}
}

// ends reads the first and last elements of a part, and one between them that its clause lacks.
//
//intra:task in(x[lo:lo+1], x[hi-1:hi], lo, hi) out(y)
func ends(x, y []float64, lo, hi int) { set(y, 0, at(x, lo)+at(x, hi-1)+at(x, (lo+hi)/2)) }

// corner reads an element of a matrix of 4 columns beside its own column.
//
//intra:task in(x[0:3, 1:2:4]) out(y)
func corner(x, y []float64) { set(y, 0, at(x, 1)+at(x, 5)+at(x, 6)) }
