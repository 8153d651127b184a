package intra

import (
	"fmt"
	"math"
	"reflect"
	"sync/atomic"
	"unsafe"

	"github.com/intrahpc/intra/internal/base/arena"
	"github.com/intrahpc/intra/internal/base/hugepage"
	"github.com/intrahpc/intra/update"
)

// Alloc allocates a slice like make([]T, n). It is meant for the large arrays in which a
// program's regions lie. It asks the system for huge pages, which make address translation
// faster. T must hold no pointers. Alloc panics if it does, or if n is negative.
//
// The replicas of a rank that are on one host share the memory of these arrays. They store
// results directly into each other's arrays if that takes less time than sending them (see
// intrarun -direct). In all other cases the slice is an ordinary one. The memory is freed
// when nothing refers to it any more.
func Alloc[T any](n int) []T { return allocate[T](shared.Load(), n) }

// shared is the source of the arrays of this process; nil: the heap. The process entry
// sets it.
var shared atomic.Pointer[arena.Arena]

func allocate[T any](a *arena.Arena, n int) []T {
	if err := update.PointerFree(reflect.TypeFor[T]()); err != nil {
		panic(fmt.Sprintf("intra.Alloc: %v", err))
	}
	var s []T
	if size := int(unsafe.Sizeof(*new(T))); a != nil && size > 0 && n > 0 && n <= math.MaxInt/size {
		if mem := a.Alloc(n * size); mem != nil {
			s = unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(mem))), n)
		}
	}
	if s == nil {
		s = make([]T, n)
	}
	hugepage.Advise(s)
	return s
}
