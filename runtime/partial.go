package runtime

import (
	"unsafe"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/replica/reduce"
	"github.com/intrahpc/intra/update"
)

// ReduceSlice gives a task of s its own memory in place of v. The body gets this memory
// from the part and folds into it. When the section ends, the parts are folded into v in
// launch order, element by element.
//
//	part, r := runtime.ReduceSlice(s, "counts", counts, runtime.OpAdd[int]())
//	s.Launch(task, func() { histogram(x[lo:hi], part.Slice()) }, intra.In("x", x[lo:hi]), r)
//
// A part begins with the neutral element of the operator. So the result has the bits of
// folding into v directly, if each element is folded into only once or the operator is
// exact.
func ReduceSlice[T any](s *intra.Section, name string, v []T, op Op[T]) (*Partial[T], intra.Region) {
	results := s.Results().(*reduce.Results)
	former, _ := results.Former().(folder[T])
	p := former.p
	if p == nil {
		p = new(Partial[T])
	}
	*p = Partial[T]{v: v, op: op}
	r := update.Slice(update.Reduce, name, v) // Slice reports the error of v
	if r.Err() == nil {
		p.own = reduce.Memory[T](results, len(v))
		r = update.Part(v, update.Slice(update.Reduce, name, p.own))
	}
	results.Add(folder[T]{p})
	return p, r
}

// ReduceVar is like ReduceSlice, for one variable.
func ReduceVar[T any](s *intra.Section, name string, v *T, op Op[T]) (*Partial[T], intra.Region) {
	if v == nil {
		return &Partial[T]{}, update.Var(update.Reduce, name, v)
	}
	return ReduceSlice(s, name, unsafe.Slice(v, 1), op)
}

// Partial is the memory of one task that takes the place of the memory of a reduction.
type Partial[T any] struct {
	v, own []T
	op     Op[T]
}

// Slice returns the memory of the part, filled with the neutral element. The
// body of the task calls it once.
func (p *Partial[T]) Slice() []T {
	for i := range p.own {
		p.own[i] = p.op.neutral
	}
	return p.own
}

// Var is like Slice, for a part of one variable.
func (p *Partial[T]) Var() *T { return &p.Slice()[0] }

// folder folds a part into the memory that it represents.
type folder[T any] struct{ p *Partial[T] }

func (f folder[T]) Fold() { f.p.op.fold(f.p.v, f.p.own) }

func (f folder[T]) Into() []byte { return update.Slice(update.Reduce, "", f.p.v).Mem }

func (f folder[T]) Parts() []reduce.Part {
	if len(f.p.v) == 0 {
		return nil
	}
	return []reduce.Part{{Into: &f.p.v[0], Acts: f.p.op.acts, Fold: f.Fold}}
}
