package intra

import (
	"fmt"
	"reflect"

	"github.com/intrahpc/intra/internal/hugepage"
	"github.com/intrahpc/intra/update"
)

// Alloc is make([]T, n) for the big arrays of a program, those that regions
// are made of: it asks the system for huge pages, which saves address
// translation. The slice is an ordinary one. T holds no pointers: Alloc panics
// if it does, as it does for a negative n.
func Alloc[T any](n int) []T {
	if err := update.PointerFree(reflect.TypeFor[T]()); err != nil {
		panic(fmt.Sprintf("intra.Alloc: %v", err))
	}
	s := make([]T, n)
	hugepage.Advise(s)
	return s
}
