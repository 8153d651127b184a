package certain // want package:"effects"

// Package certain has kernels whose clauses are certainly wrong.

import (
	"encoding/binary"
	"slices"

	"blas"
)

func vec(x []float64) blas.Vector { return blas.Vector{N: len(x), Inc: 1, Data: x} }

func half(y []float64) []float64 { return y[:len(y)/2] }

func two(y []float64) (a, b []float64) { n := len(y) / 2; return y[:n], y[n:] }

type view struct{ s []float64 }

func (v view) set(i int, x float64)     { v.s[i] = x }
func (v *view) setPtr(i int, x float64) { v.s[i] = x }
func (v view) get(i int) float64        { return v.s[i] }
func newView(s []float64) *view         { return &view{s} }
func (v *view) use(s []float64)         { v.s = s }

type setter interface{ set(int, float64) }

func id[T any](x T) T { return x }

//intra:task in(y)
func halves(y []float64) {
	half(y)[0] = 1 // want `task halves writes y, but y is in in; want out\(y\)`
}

//intra:task in(y)
func twoResults(y []float64) {
	_, b := two(y)
	b[0] = 1 // want `task twoResults writes y, but y is in in; want out\(y\)`
}

//intra:task in(y)
func method(y []float64) {
	view{y}.set(0, 1) // want `task method writes y in set at certain.go:\d+, but y is in in; want out\(y\)`
}

//intra:task in(y)
func pointerMethod(y []float64) {
	newView(y).setPtr(0, 1) // want `task pointerMethod writes y in setPtr at certain.go:\d+, but y is in in`
}

//intra:task in(y)
func usedLater(y []float64) {
	var v view
	v.use(y)
	v.s[0] = 1 // want `task usedLater writes y, but y is in in`
}

//intra:task in(y)
func wholeStruct(y []float64) {
	v := view{y}
	w := v
	w.s[0]++ // want `task wholeStruct writes y, but y is in in; want inout\(y\)`
}

//intra:task in(y)
func throughInterface(y []float64) {
	var s setter = view{y}
	s.set(0, 1) // want `task throughInterface writes y in set at certain.go:\d+, but y is in in`
}

//intra:task in(y)
func generic(y []float64) {
	id(y)[0] = 1 // want `task generic writes y, but y is in in`
}

//intra:task in(y)
func inMap(y []float64) {
	m := map[string][]float64{"y": y}
	m["y"][0] = 1 // want `task inMap writes y, but y is in in`
}

//intra:task in(y)
func appended(y []float64) {
	var m [][]float64
	m = append(m, y)
	m[0][0] = 1 // want `task appended writes y, but y is in in`
}

//intra:task in(y)
func vecDense(y []float64) {
	blas.NewVecDense(3, y[:3]).SetVec(0, 1)
}

//intra:task in(y)
func rawData(y []float64) {
	vec(y).Data[0] = 1 // want `task rawData writes y, but y is in in; want out\(y\)`
}

//intra:task in(y)
func addConst(y []float64) {
	blas.AddConst(1, y) // want `task addConst writes y in AddConst at blas.go:\d+, but y is in in; want inout\(y\)`
}

//intra:task out(y)
func addConstOut(y []float64) {
	blas.AddConst(1, y) // want `task addConstOut reads y in AddConst at blas.go:\d+ before it is written, but y is in out; want inout\(y\)`
}

//intra:task in(y, v)
func putUint64(y []byte, v uint64) {
	binary.LittleEndian.PutUint64(y, v) // want `task putUint64 writes y, but y is in in; want out\(y\)`
}

//intra:task in(y)
func chunks(y []float64) {
	for c := range slices.Chunk(y, 2) {
		c[0] = 1
	}
}

//intra:task in(y)
func called(y []float64) {
	set := func() { y[0] = 1 }
	set() // want `task called writes y, but y is in in`
}

//intra:task in(y)
func boundMethod(y []float64) {
	f := view{y}.set
	f(0, 1) // want `task boundMethod writes y in .*set.*, but y is in in`
}

//intra:task in(y)
func asserted(y []float64) {
	var a any = y
	a.([]float64)[0] = 1 // want `task asserted writes y, but y is in in`
}

func update(x []float64, write bool) {
	if write {
		x[0] = 1
	}
}

//intra:task in(x, write)
func flag(x []float64, write bool) {
	update(x, write) // want `task flag writes x in update at certain.go:\d+, but x is in in`
}

//intra:task in(x) inout(y) // want `y is in inout, but never never writes it; want in\(y\)`
func never(x, y []float64) { _ = half(y)[0] + x[0] }

//intra:task in(x) inout(y) // want `y is in inout, but onlyRead never writes it; want in\(y\)`
func onlyRead(x, y []float64) { _ = newView(y).get(0) }

//intra:task in(x) out(y) // want `y is in out, but cloned never writes it; want in\(y\)`
func cloned(x, y []float64) {
	c := slices.Clone(y)
	c[0] = x[0]
}

//intra:task in(x) out(y)
func readFirst(x, y []float64) {
	y[0] = newView(y).get(1) // want `task readFirst reads y in get at certain.go:\d+ before it is written, but y is in out; want inout\(y\)`
}

//intra:task in(y)
func rec(y []float64) {
	down(y) // want `task rec writes y in down at certain.go:\d+, but y is in in`
}

func down(y []float64) {
	if len(y) > 0 {
		y[0] = 1
		down(y[1:])
	}
}

type rows struct{ v [][]float64 }

//intra:task in(r)
func nested(r *rows) {
	half(r.v[0])[0] = 1 // want `task nested writes r.v, but no clause but in\(r\) names it`
}

//intra:task in(y)
func structField(y struct{ a view }) {
	y.a.s[0] = 1 // want `task structField writes y.a.s, but no clause but in\(y\) names it`
}

//intra:task in(y)
func captured(y []float64) {
	var cur []float64
	next := func() { cur = y[1:] }
	next()
	cur[0] = 1 // want `task captured writes y, but y is in in`
}
