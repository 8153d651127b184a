package intra

import (
	"reflect"
	"unsafe"

	"github.com/intrahpc/intra/update"
)

// Reduce gives a task of s a private cell for its partial result. When the
// section ends, the cells of v are folded into it in launch order:
// *v = op(*v, cell). The body writes *cell.
func Reduce[T any](s *Section, name string, v *T, op func(a, b T) T) (cell *T, r Region) {
	var c *cells[T]
	if n := len(s.folds); n > 0 {
		c, _ = s.folds[n-1].(*cells[T])
	}
	if c == nil || c.v != v || c.n == len(c.all) {
		c = &cells[T]{v: v}
		s.folds = append(s.folds, c)
	}
	next := &c.all[c.n]
	c.n++
	next.op, next.partial = op, &partials[T](s, 1)[0]
	return next.partial, update.Var(update.Reduce, name, next.partial)
}

// folder folds partial results at the end of a section.
type folder interface {
	fold()
	// parts are the partial results one by one, for foldOtherwise.
	parts() []part
	// into is the memory that is folded into.
	into() []byte
}

// cells are those of tasks, launched one after the other, that reduce into
// the same variable.
type cells[T any] struct {
	v   *T
	n   int
	all [tasks]struct {
		partial *T
		op      func(a, b T) T
	}
}

func (c *cells[T]) fold() {
	for i := range c.n {
		*c.v = c.all[i].op(*c.v, *c.all[i].partial)
	}
}

func (c *cells[T]) into() []byte { return bytesOf(c.v) }

// ReduceSlice gives a task of s memory of its own in the place of v, which its
// body gets from the part and folds into. When the section ends, the parts are
// folded into v in launch order, element by element.
//
//	part, r := intra.ReduceSlice(s, "counts", counts, intra.OpAdd[int]())
//	s.Launch(task, func() { histogram(x[lo:hi], part.Slice()) }, intra.In("x", x[lo:hi]), r)
//
// What a part begins with is the neutral element of the operator, so that the
// bits are those of folding into v directly if each element is folded into
// once, or the operator is exact.
func ReduceSlice[T any](s *Section, name string, v []T, op Op[T]) (*Partial[T], Region) {
	p := &Partial[T]{v: v, op: op}
	r := update.Slice(update.Reduce, name, v) // for its error
	if r.Err == nil {
		p.own = partials[T](s, len(v))
		r = update.Slice(update.Reduce, name, p.own)
	}
	s.folds = append(s.folds, p)
	return p, r
}

// ReduceVar is ReduceSlice for one variable.
func ReduceVar[T any](s *Section, name string, v *T, op Op[T]) (*Partial[T], Region) {
	if v == nil {
		return &Partial[T]{}, update.Var(update.Reduce, name, v)
	}
	return ReduceSlice(s, name, unsafe.Slice(v, 1), op)
}

// Partial is the memory of one task in the place of what it reduces into.
type Partial[T any] struct {
	v, own []T
	op     Op[T]
}

// Slice returns the memory of the part, with the neutral element in it. The
// body of the task calls it once.
func (p *Partial[T]) Slice() []T {
	for i := range p.own {
		p.own[i] = p.op.neutral
	}
	return p.own
}

// Var is Slice for a part of one variable.
func (p *Partial[T]) Var() *T { return &p.Slice()[0] }

func (p *Partial[T]) fold() { p.op.fold(p.v, p.own) }

func (p *Partial[T]) into() []byte { return update.Slice(update.Reduce, "", p.v).Mem }

// partials returns memory for n partial results of a task, which stays its own
// until the section has ended.
func partials[T any](s *Section, n int) []T {
	size := int(unsafe.Sizeof(*new(T)))
	if s.p == nil || size == 0 || n == 0 || update.PointerFree(reflect.TypeFor[T]()) != nil {
		return make([]T, n)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(s.p.parts.take(n*size)))), n)
}

// partPool is the memory of the partial results of one section after the
// other. All replicas take the same of it in the same order, so that it can be
// where they store into each other's memory.
type partPool struct {
	chunks [][]byte
	chunk  int // the first one in which something is left
	used   int // of that
}

// The sizes of a chunk, and of what one is divided into, in bytes.
const (
	partChunk = 64 << 10
	partUnit  = 64
)

func (p *partPool) take(size int) []byte {
	size = (size + partUnit - 1) &^ (partUnit - 1)
	for p.chunk < len(p.chunks) && size > len(p.chunks[p.chunk])-p.used {
		p.chunk, p.used = p.chunk+1, 0
	}
	if p.chunk == len(p.chunks) {
		words := Alloc[uint64](max(size, partChunk) / 8)
		p.chunks = append(p.chunks, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words)))
	}
	mem := p.chunks[p.chunk][p.used:][:size:size]
	p.used += size
	return mem
}

// reset takes everything back for the next section.
func (p *partPool) reset() { p.chunk, p.used = 0, 0 }
