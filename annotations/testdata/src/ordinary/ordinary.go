package ordinary // want package:"effects"

// Package ordinary has kernels whose clauses are right. None may be refused.

import (
	"encoding/binary"
	"iter"
	"slices"
	"sort"
	"unsafe"

	"blas"
)

func vec(x []float64) blas.Vector { return blas.Vector{N: len(x), Inc: 1, Data: x} }

//intra:task in(a, x) inout(y)
func axpy(a float64, x, y []float64) { blas.Axpy(a, vec(x), vec(y)) }

//intra:task in(a, x) inout(y)
func axpyLiteral(a float64, x, y []float64) {
	blas.Axpy(a, blas.Vector{N: len(x), Inc: 1, Data: x}, blas.Vector{N: len(y), Inc: 1, Data: y})
}

//intra:task in(a, x) out(y)
func gemv(a, x, y []float64) { blas.Gemv(1, vec(a), vec(x), 0, vec(y)) }

//intra:task out(y)
func setVec(y []float64) { blas.NewVecDense(len(y), y).SetVec(0, 1) }

//intra:task inout(y)
func setVecInOut(y []float64) {
	v := blas.NewVecDense(len(y), y)
	v.SetVec(0, v.AtVec(1))
}

//intra:task inout(y)
func rawVector(y []float64) {
	v := blas.NewVecDense(len(y), y)
	v.RawVector().Data[0] = 1
}

//intra:task out(y)
func setRawVector(y []float64) {
	var v blas.VecDense
	v.SetRawVector(vec(y))
	v.SetVec(0, 1)
}

//intra:task inout(y)
func addConst(y []float64) { blas.AddConst(1, y) }

//intra:task in(x) inout(y)
func assembly(x, y []float64) { blas.Scale(blas.Dot(x, x), y) }

//intra:task in(v) out(y)
func putUint64(v uint64, y []byte) { binary.LittleEndian.PutUint64(y, v) }

//intra:task in(v) out(y)
func order(v uint64, y []byte) {
	var o binary.ByteOrder = binary.BigEndian
	o.PutUint64(y, v)
}

//intra:task out(y)
func chunks(y []float64) {
	for c := range slices.Chunk(y, 2) {
		c[0] = 1
	}
}

//intra:task out(y)
func values(y [][2]float64) {
	for i := range slices.Values(y) {
		_ = i
	}
	y[0][0] = 1
}

func half(y []float64) []float64 { return y[:len(y)/2] }

//intra:task out(y)
func literal(y []float64) { func() []float64 { return y }()[0] = 1 }

//intra:task out(y)
func captured(y []float64) {
	all := func() []float64 { return y }
	all()[0] = 1
}

//intra:task out(y)
func halves(y []float64) { half(y)[0] = 1 }

func two(y []float64) (a, b []float64) { n := len(y) / 2; return y[:n], y[n:] }

//intra:task out(y)
func twoResults(y []float64) {
	a, _ := two(y)
	a[0] = 1
}

//intra:task in(x) out(y)
func second(x, y []float64) {
	_, b := both(x, y)
	b[0] = x[0]
}

func both(x, y []float64) (a, b []float64) { return x, y }

type view struct{ s []float64 }

func (v view) set(i int, x float64)     { v.s[i] = x }
func (v *view) setPtr(i int, x float64) { v.s[i] = x }
func (v view) get(i int) float64        { return v.s[i] }
func (v *view) use(s []float64)         { v.s = s }
func (v view) sub() view                { return view{v.s[1:]} }
func newView(s []float64) *view         { return &view{s} }
func (v view) each(f func(*float64)) {
	for i := range v.s {
		f(&v.s[i])
	}
}

type setter interface{ set(int, float64) }

//intra:task out(y)
func values1(y []float64) { view{y}.set(0, 1) }

//intra:task out(y)
func values2(y []float64) { (&view{y}).setPtr(0, 1) }

//intra:task out(y)
func values3(y []float64) { v := view{y}; w := v; w.set(0, 1) }

//intra:task out(y)
func values4(y []float64) { view{y}.sub().sub().set(0, 1) }

//intra:task out(y)
func values5(y []float64) { newView(y).s[0] = 1 }

//intra:task out(y)
func values6(y []float64) { var v view; v.use(y); v.set(0, 1) }

//intra:task out(y)
func values7(y []float64) { view{y}.each(func(p *float64) { *p = 1 }) }

//intra:task out(y)
func inMap(y []float64) { m := map[string][]float64{"y": y}; m["y"][0] = 1 }

//intra:task out(y)
func inArray(y []float64) { m := [2][]float64{nil, y}; m[1][0] = 1 }

//intra:task out(y)
func inSlice(y []float64) { var m [][]float64; m = append(m, y); m[0][0] = 1 }

//intra:task out(y)
func inStructs(y []float64) { v := struct{ a struct{ b view } }{}; v.a.b = view{y}; v.a.b.s[0] = 1 }

//intra:task out(y)
func interfaces(y []float64) { var s setter = view{y}; s.set(0, 1) }

//intra:task out(y)
func interfacePointer(y []float64) { var s setter = &view{y}; s.set(0, 1) }

func setFirst(s setter) { s.set(0, 1) }

//intra:task out(y)
func passedInterface(y []float64) { setFirst(view{y}) }

//intra:task out(y)
func anyValue(y []float64) { var a any = y; a.([]float64)[0] = 1 }

//intra:task out(y)
func typeSwitch(y []float64) {
	var a any = y
	switch v := a.(type) {
	case []float64:
		v[0] = 1
	}
}

func id[T any](x T) T { return x }

//intra:task out(y)
func generic(y []float64) { id(y)[0] = 1 }

type box[T any] struct{ v T }

func (b *box[T]) get() T { return b.v }

//intra:task out(y)
func genericBox(y []float64) { b := box[[]float64]{y}; b.get()[0] = 1 }

func fill[S ~[]E, E any](s S, v E) {
	for i := range s {
		s[i] = v
	}
}

//intra:task out(y)
func genericFill(y []float64) { fill(y, 1) }

func apply(s []float64, f func([]float64)) { f(s) }

//intra:task out(y)
func higherOrder(y []float64) { apply(y, func(s []float64) { s[0] = 1 }) }

//intra:task out(y)
func methodValue(y []float64) { f := view{y}.set; f(0, 1) }

//intra:task out(y)
func methodExpr(y []float64) { view.set(view{y}, 0, 1) }

func makeSetter(y []float64) func(int) { return func(i int) { y[i] = 1 } }

//intra:task out(y)
func closureResult(y []float64) { makeSetter(y)(0) }

func parts(y []float64) iter.Seq[[]float64] {
	return func(yield func([]float64) bool) {
		for len(y) > 0 && yield(y[:1]) {
			y = y[1:]
		}
	}
}

//intra:task out(y)
func ownIterator(y []float64) {
	for p := range parts(y) {
		p[0] = 1
	}
}

//intra:task out(y)
func table(y []float64) {
	fs := []func(){func() { y[0] = 1 }}
	for _, f := range fs {
		f()
	}
}

//intra:task inout(y)
func sorted(y []float64) { sort.Sort(sort.Float64Slice(y)) }

//intra:task out(y)
func address(y []float64) { p := &y[0]; q := &p; **q = 1 }

//intra:task out(y)
func raw(y []float64) { unsafe.Slice((*float64)(unsafe.Pointer(&y[0])), 1)[0] = 1 }

//intra:task out(y)
func arithmetic(y []float64) {
	*(*float64)(unsafe.Pointer(uintptr(unsafe.Pointer(&y[0])) + 8)) = 1
}

//intra:task in(x, k) inout(y) scratch(tmp)
func pingPong(x, y, tmp []float64, k int) {
	p, q := y, tmp
	for range k {
		for i := range p {
			q[i] = p[i] + x[i]
		}
		p, q = q, p
	}
	copy(y, p)
}

// The kernel writes a copy, and not the parameter in the clause in.
//
//intra:task in(x, dirty) out(y)
func copied(x, y []float64, dirty bool) {
	b := x
	if dirty {
		b = slices.Clone(x)
	}
	if dirty {
		b[0] = 1
	}
	copy(y, b)
}

func update(x []float64, write bool) {
	if write {
		x[0] = 1
	}
}

//intra:task in(x) out(y)
func flag(x, y []float64) {
	update(x, false)
	update(y, true)
}

//intra:task in(x) out(y)
func reused(x, y []float64) {
	v := view{x}
	a := v.get(0)
	v.s = y
	v.set(0, a)
}

//intra:task out(y)
func lateGetter(y []float64) {
	get := func(i int) float64 { return y[i] }
	y[0] = 1
	y[1] = get(0)
}

//intra:task out(y)
func recursive(y []float64) {
	if len(y) > 1 {
		recursive1(y[:len(y)/2])
		recursive1(y[len(y)/2:])
	}
}

func recursive1(y []float64) {
	y[0] = 1
	if len(y) > 1 {
		recursive1(y[1:])
	}
}

func swapped(x, y []float64, n int) {
	if n > 0 {
		swapped(y, x, n-1)
		return
	}
	x[0] = 1
}

//intra:task in(n) inout(x, y)
func swaps(x, y []float64, n int) { swapped(x, y, n) }

type list struct {
	next *list
	v    []float64
}

//intra:task in(l) out(y)
func chain(l *list, y []float64) {
	l2 := &list{l, y}
	for p := l2; p != nil; p = p.next {
		if p.next == nil {
			l2.v[0] = 1
		}
	}
}

//intra:task in(f, x) out(y)
func value(f func([]float64) []float64, x, y []float64) { f(y)[0] = x[0] }

type work interface{ run(y []float64) }

//intra:task in(w) out(y)
func viaInterface(w work, y []float64) { w.run(y) }

var registered []func([]float64)

//intra:task out(y)
func viaVariable(y []float64) { registered[0](y) }

//intra:task out(m)
func pointerToStruct(m *struct{ a [4]float64 }) { f := &m.a; f[0] = 1 }

//intra:task out(m)
func arrayHelper(m *[4]float64) { half(m[:])[0] = 1 }

//intra:task in(n) out(n.v)
func field(n *list) { half(n.v)[0] = 1 }

//intra:task in(n) out(n.v)
func fieldCopy(n *list) { c := *n; c.v[0] = 1 }

//intra:task out(y)
func deferred(y []float64) { defer func() { y[0] = 1 }() }

//intra:task out(y)
func conditional(y []float64) {
	w := y
	if len(y) == 0 {
		w = make([]float64, 1)
	}
	w[0] = 1
}
