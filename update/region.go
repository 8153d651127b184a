package update

import (
	"fmt"
	"reflect"
	"unsafe"
)

// Mode is the kind of access of a task to a region.
type Mode uint8

const (
	In      Mode = iota // read
	Out                 // written, not read before; may be written in part
	InOut               // read and written
	Reduce              // a private cell, written; folded after the section
	Scratch             // work space: its contents have no meaning, and are never sent
)

func (m Mode) String() string {
	return [...]string{"in", "out", "inout", "reduce", "scratch"}[m]
}

// Written reports whether a region of this mode is part of the update.
func (m Mode) Written() bool { return m == Out || m == InOut || m == Reduce }

// Region is a named piece of memory of one task. Its bytes are those of a
// slice or variable of a pointer-free type.
type Region struct {
	Name string
	Mode Mode
	Mem  []byte
	Type reflect.Type // of an element
	Err  error        // why the memory cannot be a region
	// Array is the argument of the task of which Mem is a part, up to the capacity that the
	// task can access through it; in Reduce it is the memory that Mem is folded into. Only
	// checked mode uses it.
	Array []byte
	// Rows, Row and Stride describe a block of rows and columns, whose Mem reaches from its
	// first element to its last: it has Rows rows of Row bytes, whose beginnings are Stride
	// bytes apart. Expand makes a region of each row. In all other regions they are 0.
	Rows, Row, Stride int

	// Reach is an argument that contains pointers, for checked mode only. The region then
	// has no memory of its own, and Expand leaves it out. Reach is nil in all other
	// regions.
	Reach any

	// Elementwise, if set, may be called instead of the body of the task, for elements lo
	// to hi at a time, until it was called once for each element. All regions that the task
	// writes have the same number of elements.
	Elementwise func(lo, hi int)
}

// Slice makes a region of the elements of s.
func Slice[T any](mode Mode, name string, s []T) Region {
	r := Region{Name: name, Mode: mode, Type: reflect.TypeFor[T]()}
	if r.Err = PointerFree(r.Type); r.Err != nil {
		r.Err = fmt.Errorf("%s(%s): %w", mode, name, r.Err)
		return r
	}
	r.Array = bytesOf(s)
	r.Mem = r.Array[:len(r.Array):len(r.Array)]
	return r
}

// bytesOf returns the memory of s, with its capacity.
func bytesOf[T any](s []T) []byte {
	size := int(unsafe.Sizeof(*new(T)))
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), cap(s)*size)[:len(s)*size]
}

// Reaches makes a region of an argument that holds pointers.
func Reaches(name string, v any) Region {
	if v == nil {
		v = struct{}{}
	}
	return Region{Name: name, Reach: v}
}

// Part returns r, which is cut from whole, or folded into it.
func Part[T any](whole []T, r Region) Region {
	r.Array = bytesOf(whole)
	return r
}

// Var makes a region of the variable at v.
func Var[T any](mode Mode, name string, v *T) Region {
	if v == nil && mode == In {
		return Slice(mode, name, []T(nil)) // an argument that is optional
	}
	if v == nil {
		return Region{Name: name, Mode: mode, Type: reflect.TypeFor[T](),
			Err: fmt.Errorf("%s(%s): nil *%s", mode, name, reflect.TypeFor[T]())}
	}
	return Slice(mode, name, unsafe.Slice(v, 1))
}

// Len returns the number of elements.
func (r *Region) Len() int {
	if size := int(r.Type.Size()); size > 0 {
		return len(r.Mem) / size
	}
	return 0
}

// Block makes a region of the rows top..bottom and the columns left..right of a matrix that
// is stored row by row in s, with width elements per row. A block of whole rows is one
// piece.
func Block[T any](mode Mode, name string, s []T, top, bottom, left, right, width int) Region {
	r := Slice(mode, name, s[:0])
	switch {
	case r.Err != nil:
	case top < 0 || bottom < top || left < 0 || right < left || right > width:
		r.Err = fmt.Errorf("%s(%s): there are no rows %d to %d with columns %d to %d of %d", mode, name, top, bottom, left, right, width)
	case top == bottom || left == right:
	case (bottom-1)*width+right > len(s):
		r.Err = fmt.Errorf("%s(%s): rows %d to %d of %d elements need %d, and there are %d", mode, name, top, bottom, width, (bottom-1)*width+right, len(s))
	default:
		r.Mem = Slice(mode, name, s[top*width+left:(bottom-1)*width+right]).Mem
		if left > 0 || right < width {
			size := int(r.Type.Size())
			r.Rows, r.Row, r.Stride = bottom-top, (right-left)*size, width*size
		}
	}
	return r
}

// Expand appends the regions of a task, with blocks split into rows.
func Expand(to, regions []Region) []Region {
	for i := range regions {
		r := &regions[i]
		if r.Reach != nil {
			continue
		}
		if r.Rows == 0 {
			to = append(to, *r)
			continue
		}
		for k := range r.Rows {
			row := *r
			row.Rows, row.Row, row.Stride = 0, 0, 0
			row.Mem = r.Mem[k*r.Stride:][:r.Row:r.Row]
			to = append(to, row)
		}
	}
	return to
}

// Shared reports whether two pieces of memory overlap.
func Shared(a, b []byte) bool {
	ra, rb := Region{Mem: a}, Region{Mem: b}
	alo, ahi := ra.span()
	blo, bhi := rb.span()
	return alo < bhi && blo < ahi
}

// span returns the addresses [lo, hi) of the region.
func (r *Region) span() (lo, hi uintptr) {
	lo = uintptr(unsafe.Pointer(unsafe.SliceData(r.Mem)))
	return lo, lo + uintptr(len(r.Mem))
}
