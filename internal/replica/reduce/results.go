package reduce

import (
	"iter"
	"reflect"
	"unsafe"

	"github.com/intrahpc/intra/update"
)

// Folder folds partial results of tasks at the end of a section.
type Folder interface {
	Fold()
	// Parts returns the partial results one by one, for FoldIn.
	Parts() []Part
	// Into returns the memory that Fold changes.
	Into() []byte
}

// Results are the partial results of one section. The zero value allocates their memory on
// the heap.
type Results struct {
	Pool    *Pool // nil: the heap
	folders []Folder
}

// Add appends f. Results are folded in the order in which they were added.
func (r *Results) Add(f Folder) { r.folders = append(r.folders, f) }

// Reset drops all results. The memory of the folders is reused.
func (r *Results) Reset() { r.folders = r.folders[:0] }

// Former returns the folder that an earlier section had at the place of the next one, nil
// if there is none.
func (r *Results) Former() Folder {
	if n := len(r.folders); n < cap(r.folders) {
		return r.folders[:n+1][n]
	}
	return nil
}

// Empty reports whether no task of the section reduces.
func (r *Results) Empty() bool { return len(r.folders) == 0 }

// Into yields the memory into which results are folded, once for each folder.
func (r *Results) Into() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for _, f := range r.folders {
			if into := f.Into(); len(into) > 0 && !yield(into) {
				return
			}
		}
	}
}

// Fold folds all results in launch order.
func (r *Results) Fold() {
	for _, f := range r.folders {
		f.Fold()
	}
}

// Cell returns a private cell for the partial result of one task. When the results are
// folded, *v becomes op(*v, cell).
func Cell[T any](r *Results, v *T, op func(a, b T) T) *T {
	var c *cells[T]
	if n := len(r.folders); n > 0 {
		c, _ = r.folders[n-1].(*cells[T])
	}
	if c == nil || c.v != v || c.n == len(c.all) {
		if c, _ = r.Former().(*cells[T]); c == nil {
			c = &cells[T]{free: update.PointerFree(reflect.TypeFor[T]()) == nil}
		}
		c.v, c.n = v, 0
		r.Add(c)
	}
	next := &c.all[c.n]
	c.n++
	next.op, next.partial = op, &memory[T](r, 1, c.free)[0]
	return next.partial
}

// cells are the cells of consecutive tasks that reduce into the same variable.
type cells[T any] struct {
	free bool // T is free of pointers
	v    *T
	n    int
	all  [16]struct { // most sections have 16 tasks, so one allocation holds all their cells
		partial *T
		op      func(a, b T) T
	}
}

func (c *cells[T]) Fold() {
	for i := range c.n {
		*c.v = c.all[i].op(*c.v, *c.all[i].partial)
	}
}

func (c *cells[T]) Into() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(c.v)), unsafe.Sizeof(*c.v))
}

// Memory returns memory for n partial results of a task. The task keeps it until the
// section has ended.
func Memory[T any](r *Results, n int) []T {
	return memory[T](r, n, update.PointerFree(reflect.TypeFor[T]()) == nil)
}

// memory implements Memory. free means that T is free of pointers.
func memory[T any](r *Results, n int, free bool) []T {
	size := int(unsafe.Sizeof(*new(T)))
	if r.Pool == nil || size == 0 || n == 0 || !free {
		return make([]T, n)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(r.Pool.take(n*size)))), n)
}
