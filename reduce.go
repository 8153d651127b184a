package intra

import (
	"unsafe"

	"github.com/intrahpc/intra/internal/replica/reduce"
	"github.com/intrahpc/intra/update"
)

// Reduce gives a task of s a private cell for its partial result. The body writes *cell.
// When the section ends, the cells of v are folded into *v in launch order: *v = op(*v,
// cell).
func Reduce[T any](s *Section, name string, v *T, op func(a, b T) T) (cell *T, r Region) {
	cell = reduce.Cell(&s.in.results, v, op)
	return cell, update.Part(unsafe.Slice(v, 1), update.Var(update.Reduce, name, cell))
}
