package comm

import (
	"cmp"
	"reflect"
)

// Sum, Prod, Min and Max of long vectors of the usual types run in loops of their own,
// since calling a function takes several times as long as an addition. An operator is
// identified by the address of its code. So an operator that is wrapped in another
// function, or is an instance made inside another generic function, is called for each
// element. The result has the same bits.

// leastLoop is the minimum number of elements for which a loop is worthwhile.
const leastLoop = 8

// loops maps the code of an operator to its func(into, low, high []T). It is never
// modified.
var loops = func() map[uintptr]any {
	all := make(map[uintptr]any)
	addLoops(all, Sum[float64], Prod[float64], Min[float64], Max[float64])
	addLoops(all, Sum[float32], Prod[float32], Min[float32], Max[float32])
	addLoops(all, Sum[int], Prod[int], Min[int], Max[int])
	addLoops(all, Sum[int64], Prod[int64], Min[int64], Max[int64])
	addLoops(all, Sum[int32], Prod[int32], Min[int32], Max[int32])
	addLoops(all, Sum[uint64], Prod[uint64], Min[uint64], Max[uint64])
	return all
}()

func codeOf[T any](op func(a, b T) T) uintptr { return reflect.ValueOf(op).Pointer() }

// loopOf returns the loop of an operator, or nil if there is none.
func loopOf[T any](op func(a, b T) T) func(into, low, high []T) {
	loop, _ := loops[codeOf(op)].(func(into, low, high []T))
	return loop
}

func addLoops[T interface {
	Number
	cmp.Ordered
}](all map[uintptr]any, sum, prod, least, most func(a, b T) T) {
	all[codeOf(sum)] = func(into, low, high []T) {
		low, high = low[:len(into)], high[:len(into)]
		for i := range into {
			into[i] = low[i] + high[i]
		}
	}
	all[codeOf(prod)] = func(into, low, high []T) {
		low, high = low[:len(into)], high[:len(into)]
		for i := range into {
			into[i] = low[i] * high[i]
		}
	}
	all[codeOf(least)] = func(into, low, high []T) {
		low, high = low[:len(into)], high[:len(into)]
		for i := range into {
			into[i] = min(low[i], high[i])
		}
	}
	all[codeOf(most)] = func(into, low, high []T) {
		low, high = low[:len(into)], high[:len(into)]
		for i := range into {
			into[i] = max(low[i], high[i])
		}
	}
}
