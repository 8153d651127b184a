package main

import (
	"container/list"
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"sync"
	"unsafe"
)

// aliased are programs whose kernels give y to a function that writes it through an alias.
// In the programs of the second part, that function also accesses other memory.
var aliased = map[string]program{
	"strided": changes(func(x, y []float64) {
		for k := range 3 {
			for v := y[k:]; len(v) > 0; v = v[min(3, len(v)):] {
				v[0] += float64(k) * x[0]
			}
		}
	}),
	"rows": changes(func(x, y []float64) {
		rows := slices.Collect(slices.Chunk(y, 4))
		for i, row := range rows {
			row[0] += x[i]
			row[len(row)-1] *= 0.5
		}
	}),
	"byReflection": changes(func(x, y []float64) {
		v := reflect.ValueOf(y)
		for i := range v.Len() {
			v.Index(i).SetFloat(v.Index(i).Float() + x[i])
		}
	}),
	"littleEndian": fills(func(x, y []float64) {
		b := unsafe.Slice((*byte)(unsafe.Pointer(&y[0])), 8*len(y))
		for i, v := range x {
			binary.NativeEndian.PutUint64(b[8*i:], math.Float64bits(v/2))
		}
	}),
	"inList": changes(func(x, y []float64) {
		l := list.New()
		for i := range y {
			l.PushFront(&y[i])
		}
		for e, i := l.Front(), 0; e != nil; e, i = e.Next(), i+1 {
			*e.Value.(*float64) += x[i]
		}
	}),
	"setters": fills(func(x, y []float64) {
		var set []func(float64)
		for i := range y {
			set = append(set, func(v float64) { y[i] = v })
		}
		for i, v := range x {
			set[len(set)-1-i](v)
		}
	}),
	"throughChannel": changes(func(x, y []float64) {
		places := make(chan *float64, len(y))
		for i := range y {
			places <- &y[i]
		}
		close(places)
		for to := range places {
			*to -= x[0]
		}
	}),
	"goroutines": changes(func(x, y []float64) {
		var wg sync.WaitGroup
		for i := range y {
			wg.Go(func() { y[i] *= x[i] / 2 })
		}
		wg.Wait()
	}),
	"asComplex": changes(func(x, y []float64) {
		v := unsafe.Slice((*complex128)(unsafe.Pointer(&y[0])), len(y)/2)
		for i := range v {
			v[i] += complex(x[i], -1)
		}
	}),
	"asArrays": fills(func(x, y []float64) {
		type of struct{ first, last []float64 }
		parts := map[bool]of{true: {y[:2], y[2:]}}
		copy(parts[true].first, x)
		copy(parts[true].last, x[1:])
	}),
	"ofOneCall": changes(func(x, y []float64) {
		for _, v := range [][]float64{y[1:], y[:2]} {
			copy(v, v[1:])
		}
		y[0], y[1] = y[1], x[0]
	}),
	"leavesFirst": fills(func(x, y []float64) { copy(y[1:], x[1:]) }),
	"twoNames":    changesPlaces(func(a *arrays, lo, hi int) (x, y []float64) { return a.y[lo:hi], a.y[lo:hi] }),

	// The second part: in these programs, the function also accesses other memory.
	"writesIn": changes(func(x, y []float64) { vector(x).scale(0.5); y[0]++ }),
	"swapsIn": changes(func(x, y []float64) {
		for _, v := range [][]float64{x, y} {
			slices.Reverse(v)
		}
	}),
	"readsOut": fills(func(x, y []float64) {
		for i, to := range x {
			y[i] = y[len(y)-1-i] + to
		}
	}),
	"addsToOut":    fills(addTo),
	"writesBeyond": changes(func(x, y []float64) { all := y[:cap(y)]; all[len(all)-1] += x[0] }),
	"appends":      changes(func(x, y []float64) { y[0] += append(y, x[0])[0] }),
	"appendsToIn":  changes(func(x, y []float64) { y[0] += append(x, y[1])[0] }),
	"writesOther": fillsBy(func(a *arrays) func(x, y []float64) {
		return func(x, y []float64) { copy(y, x); a.n[0]++ }
	}),
	"readsOther": fillsBy(func(a *arrays) func(x, y []float64) {
		return func(x, y []float64) { copy(y, x); y[0] += a.y[length-1] }
	}),
	"keepsPlace": fillsBy(func(a *arrays) func(x, y []float64) {
		var last *float64
		return func(x, y []float64) {
			if copy(y, x); last != nil {
				*last *= 0.5
			}
			last = &y[0]
		}
	}),
	"overlapping": changesPlaces(func(a *arrays, lo, hi int) (x, y []float64) { return a.x[lo:hi], a.y[lo:min(hi+1, length)] }),
	"ofTheNext":   changesPlaces(func(a *arrays, lo, hi int) (x, y []float64) { return a.y[hi%length:][:1], a.y[lo:hi] }),
}
