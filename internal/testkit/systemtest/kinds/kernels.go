package main

import (
	"container/heap"
	"iter"
	"slices"
	"sort"
	"unsafe"
)

//go:generate go run github.com/intrahpc/intra/cmd/intragen

// The kernels of this file write y by other names.

type vector []float64

func (v vector) scale(a float64) {
	for i := range v {
		v[i] *= a
	}
}

//intra:task inout(y)
func named(y []float64) { vector(y).scale(0.5) }

// ring is a buffer that begins in the middle of its memory.
type ring struct {
	buf  []float64
	head int
}

func (r *ring) at(i int) *float64 { return &r.buf[(r.head+i)%len(r.buf)] }

//intra:task inout(y)
func around(y []float64) {
	r := &ring{y, len(y) / 2}
	for i := range y {
		*r.at(i) += float64(i)
	}
}

type smallest struct{ sort.Float64Slice }

func (s *smallest) Push(any) {}
func (s *smallest) Pop() any { return nil }

//intra:task inout(y)
func heaped(y []float64) { heap.Init(&smallest{y}) }

//intra:task inout(y)
func sorted(y []float64) {
	slices.SortFunc(y, func(a, b float64) int {
		if a > b {
			return -1
		}
		return 1
	})
}

//intra:task inout(y)
func deleted(y []float64) { _ = append(slices.Delete(y, 0, 1), 7) }

//intra:task inout(y)
func shifted(y []float64) { copy(y[1:], y) }

//intra:task inout(y)
func deferred(y []float64) {
	defer func() {
		if recover() != nil {
			y[0]++
		}
	}()
	panic("as usual")
}

type setter interface{ set(i int, v float64) }

func (v vector) set(i int, x float64) { v[i] += x }

type embedded struct{ setter }

//intra:task inout(y)
func promoted(y []float64) { embedded{embedded{vector(y)}}.set(1, 2) }

//intra:task inout(y)
func arrayPointer(y []float64) {
	a := (*[2]float64)(y)
	b := *a
	a[0] = b[1] + 1
}

//intra:task inout(y)
func asBytes(y []float64) {
	b := unsafe.Slice((*byte)(unsafe.Pointer(&y[0])), 8*len(y))
	b[0] ^= 1
}

func addAll(v float64, all ...[]float64) {
	for _, s := range all {
		for i := range s {
			s[i] += v
		}
	}
}

//intra:task inout(x, y)
func several(x, y []float64) { addAll(3, x[1:], y) }

//intra:task in(x) inout(y)
func inTable(x, y []float64) {
	does := map[string]func(to []float64){
		"copy": func(to []float64) { copy(to, x) },
		"add":  func(to []float64) { addAll(x[0], to) },
	}
	does["add"](y)
}

func pairs(x, y []float64) iter.Seq2[*float64, float64] {
	return func(yield func(*float64, float64) bool) {
		for i := range y {
			if !yield(&y[i], x[i]) {
				return
			}
		}
	}
}

//intra:task in(x) inout(y)
func paired(x, y []float64) {
	for to, v := range pairs(x, y) {
		*to += v
	}
}

func pulled(y []float64) func() (*float64, bool) {
	next, _ := iter.Pull(func(yield func(*float64) bool) {
		for i := range y {
			if !yield(&y[i]) {
				return
			}
		}
	})
	return next
}

//intra:task inout(y)
func pulls(y []float64) {
	for next := pulled(y); ; {
		p, more := next()
		if !more {
			return
		}
		*p *= 0.75
	}
}

func lastOf[S ~[]E, E any](all ...S) S {
	if len(all) == 1 {
		return all[0]
	}
	return lastOf(all[1:]...)
}

//intra:task in(x) inout(y)
func recursive(x, y []float64) { lastOf(x, x, y)[0] += x[0] }

type node struct {
	own  []float64
	next *node
}

//intra:task in(x) inout(y)
func linked(x, y []float64) {
	list := &node{x, &node{y, nil}}
	for n := list; n != nil; n = n.next {
		if n.next == nil {
			n.own[0] += 2 * list.own[0]
		}
	}
}

//intra:task in(x) out(y) scratch(work)
func pingPong(x, y, work []float64) {
	from, to := x, work
	for range 4 {
		for i := range to {
			to[i] = from[len(from)-1-i] + 1
		}
		if from, to = to, y; &from[0] == &y[0] {
			to = work
		}
		copy(y, from)
	}
}

//intra:task in(f, x) out(y)
func apply(f func(float64) float64, x, y []float64) {
	for i, v := range x {
		y[i] = f(v)
	}
}

type function interface{ eval(float64) float64 }

//intra:task in(f, x) out(y)
func evaluate(f function, x, y []float64) {
	for i, v := range x {
		y[i] = f.eval(v)
	}
}

//intra:task in(fs, x) out(y)
func applyAll(fs []func(float64) float64, x, y []float64) {
	for i, v := range x {
		for _, f := range fs {
			v = f(v)
		}
		y[i] = v
	}
}

//intra:task in(before) inout(v)
func carry(before float64, v []float64) {
	for i := range v {
		before += v[i]
		v[i] = before
	}
}

//intra:task in(before) inout(v)
func count(before int, v []int) {
	for i := range v {
		before += v[i]
		v[i] = before
	}
}

//intra:task in(x) reduce(+: sum)
func total(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

//intra:task in(x) reduce(max: most)
func largest(x []float64) (most float64) { return slices.Max(x) }

//intra:task in(x) out(v)
func sumOf(x []float64, v *float64) {
	sum := 0.0
	for _, y := range x {
		sum += y
	}
	*v = sum
}

//intra:task in(x, by) out(y)
func scaled(x []float64, by float64, y []float64) {
	for i, v := range x {
		y[i] = v * by
	}
}

//intra:task in(f, x) inout(y)
func change(f func(x, y []float64), x, y []float64) { f(x, y) }

//intra:task in(f, x) out(y)
func fill(f func(x, y []float64), x, y []float64) { f(x, y) }

//intra:task in(x) reduce(+: each)
func histogram(x []float64, each []int) {
	for _, v := range x {
		each[int(v)]++
	}
}
