package vary

import (
	"math"
	"reflect"
	"sync"
	"unsafe"
)

// run is a sequence of n values in an element.
type run struct {
	at, n, size int
	float       bool // float32 or float64, depending on size
}

// layouts keeps the layout of each type.
var layouts sync.Map // from reflect.Type to []run

// layout returns where the values of an element of a pointer-free type lie, without
// padding. A complex number is two values.
func layout(t reflect.Type) []run {
	if known, ok := layouts.Load(t); ok {
		return known.([]run)
	}
	runs := appendRuns(nil, t, 0)
	layouts.Store(t, runs)
	return runs
}

func appendRuns(to []run, t reflect.Type, at int) []run {
	one := run{at, 1, int(t.Size()), false}
	switch t.Kind() {
	case reflect.Struct:
		for f := range t.Fields() {
			if f.Name != "_" {
				to = appendRuns(to, f.Type, at+int(f.Offset))
			}
		}
		return to
	case reflect.Array:
		for i := range t.Len() {
			to = appendRuns(to, t.Elem(), at+i*int(t.Elem().Size()))
		}
		return to
	case reflect.Complex64, reflect.Complex128:
		one.float, one.n, one.size = true, 2, one.size/2
	case reflect.Float32, reflect.Float64:
		one.float = true
	}
	if n := len(to); n > 0 {
		if last := &to[n-1]; last.float == one.float && last.size == one.size && last.at+last.n*last.size == at {
			last.n += one.n
			return to
		}
	}
	return append(to, one)
}

// element returns the innermost element type of nested arrays. Its values lie in memory as
// those of the array do.
func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Array {
		t = t.Elem()
	}
	return t
}

// floats calls f for the floating-point numbers in elements of type t. Each call passes
// many numbers: either float32s or float64s, and nil for the other type.
func floats(t reflect.Type, mem []byte, f func(single []float32, double []float64)) {
	t = element(t)
	runs, size := layout(t), int(t.Size())
	if len(runs) == 1 && runs[0].float && runs[0].n*runs[0].size == size { // elements have no other values
		floatsOf(mem, runs[0].size, f)
		return
	}
	for ; len(mem) >= size && size > 0; mem = mem[size:] {
		for _, r := range runs {
			if r.float {
				floatsOf(mem[r.at:r.at+r.n*r.size], r.size, f)
			}
		}
	}
}

// floatsOf calls f with memory as floating-point numbers. The memory must be aligned for
// them.
func floatsOf(mem []byte, size int, f func(single []float32, double []float64)) {
	if len(mem) == 0 {
		return
	}
	p := unsafe.Pointer(unsafe.SliceData(mem))
	if size == 4 {
		f(unsafe.Slice((*float32)(p), len(mem)/4), nil)
		return
	}
	f(nil, unsafe.Slice((*float64)(p), len(mem)/8))
}

// finite reports whether x is neither infinite nor NaN.
func finite(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) }
