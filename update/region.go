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
	leads               // an argument that holds pointers, for checked mode only
)

func (m Mode) String() string {
	return [...]string{"in", "out", "inout", "reduce", "scratch", "in"}[m]
}

// Written reports whether a region of this mode is part of the update.
func (m Mode) Written() bool { return m == Out || m == InOut || m == Reduce }

// Region is a named piece of memory of one task. Its bytes are those of a slice or variable
// of a pointer-free type. Each launch makes and copies some regions, so a Region is small,
// and rarely used fields are in more.
type Region struct {
	Name string
	Mem  []byte // its capacity is that of the argument
	of   any    // nil pointer of type *T for elements of type T; for leads the argument
	// whole is the memory that contains Mem, or into which Mem is folded, and extent is its size
	// in bytes. If whole is nil, that memory is Mem.
	whole   unsafe.Pointer
	extent  int
	each    func(lo, hi int)
	more    *more
	size    uint32 // bytes of an element
	Mode    Mode
	aliased bool // Aliased has changed Mode from Out to InOut
}

// more holds the fields that few regions use.
type more struct {
	err error // the reason why the memory cannot be a region
	// rows, row and stride describe a block of rows and columns, whose Mem extends from its
	// first element to its last. The block has rows rows of row bytes, whose beginnings are
	// stride bytes apart. Expand makes a region of each row.
	rows, row, stride int
}

// Slice makes a region of the elements of s.
func Slice[T any](mode Mode, name string, s []T) Region {
	return Region{Name: name, Mem: bytesOf(s), of: (*T)(nil), size: uint32(unsafe.Sizeof(*new(T))), Mode: mode}
}

// Set makes r, a region that Slice made, a region of the elements of s. It undoes the effect of
// Aliased.
func Set[T any](r *Region, s []T) {
	if r.Mem = bytesOf(s); r.aliased {
		r.aliased, r.Mode = false, Out
	}
}

// Forget drops the memory of r, unless it lies in the size bytes at keeps.
func (r *Region) Forget(keeps unsafe.Pointer, size uintptr) {
	if uintptr(unsafe.Pointer(unsafe.SliceData(r.Mem)))-uintptr(keeps) < size {
		return
	}
	if r.Mem = nil; r.whole != nil {
		r.whole = nil
	}
	if r.Mode == leads {
		r.of = nil
	}
}

// bytesOf returns the memory of s, with its capacity.
func bytesOf[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), uintptr(cap(s))*unsafe.Sizeof(*new(T)))[:uintptr(len(s))*unsafe.Sizeof(*new(T))]
}

// Reaches makes a region of an argument that holds pointers. It has no memory of its own,
// and Expand omits it.
func Reaches(name string, v any) Region { return Region{Name: name, Mode: leads, of: v} }

// Part returns r with the information that it is cut from whole, or folded into it.
func Part[T any](whole []T, r Region) Region {
	r.whole, r.extent = unsafe.Pointer(unsafe.SliceData(whole)), len(whole)*int(r.size)
	return r
}

// Var makes a region of the variable at v. For an in region v may be nil: the argument is
// optional.
func Var[T any](mode Mode, name string, v *T) Region {
	n := 1
	if v == nil {
		n = 0
	}
	r := Region{Name: name, Mem: unsafe.Slice((*byte)(unsafe.Pointer(v)), uintptr(n)*unsafe.Sizeof(*v)), of: (*T)(nil), size: uint32(unsafe.Sizeof(*v)), Mode: mode}
	if n == 0 && mode != In {
		r.more = missing(mode, name, reflect.TypeFor[T]())
	}
	return r
}

func missing(mode Mode, name string, of reflect.Type) *more {
	return &more{err: fmt.Errorf("%s(%s): nil *%s", mode, name, of)}
}

// Err returns the reason why the memory cannot be a region, or nil if it can.
func (r *Region) Err() error {
	if r.more != nil && r.more.err != nil {
		return r.more.err
	}
	if r.Mode == leads {
		return nil
	}
	if err := PointerFree(r.Type()); err != nil {
		return fmt.Errorf("%s(%s): %w", r.Mode, r.Name, err)
	}
	return nil
}

// Fail makes err the reason why the memory cannot be a region.
func (r *Region) Fail(err error) { r.more = &more{err: err} }

// Type returns the type of an element.
func (r *Region) Type() reflect.Type { return reflect.TypeOf(r.of).Elem() }

// kind identifies the type of an element.
func (r *Region) kind() uintptr { return *(*uintptr)(unsafe.Pointer(&r.of)) }

// Array returns the argument of the task that contains Mem, up to the capacity that the task can
// access. For Reduce it returns the memory into which Mem is folded. Only checked mode uses it.
func (r *Region) Array() []byte {
	if r.whole == nil {
		return r.Mem
	}
	reaches := r.extent
	if from, at := uintptr(r.whole), uintptr(unsafe.Pointer(unsafe.SliceData(r.Mem))); r.Mode != Reduce && at >= from {
		reaches = max(reaches, int(at-from)+cap(r.Mem))
	}
	return unsafe.Slice((*byte)(r.whole), reaches)[:r.extent]
}

// Whole returns a region of all of the memory into which r is folded.
func (r *Region) Whole() Region {
	w := *r
	w.Mem, w.whole = r.Array(), nil
	return w
}

// IsBlock reports whether the region is a block of rows and columns, which Expand splits into
// several regions.
func (r *Region) IsBlock() bool { return r.more != nil && r.more.rows > 0 }

// Reach returns an argument that contains pointers, for checked mode only. For all other
// regions ok is false.
func (r *Region) Reach() (v any, ok bool) { return r.of, r.Mode == leads }

// SetElementwise declares that the runtime may call f instead of the body of the task. f
// processes elements lo to hi, and is called until every element was processed once. All
// regions that the task writes must have the same number of elements.
func (r *Region) SetElementwise(f func(lo, hi int)) { r.each = f }

// Elementwise returns the function of SetElementwise, or nil if there is none.
func (r *Region) Elementwise() func(lo, hi int) { return r.each }

// Len returns the number of elements.
func (r *Region) Len() int {
	if r.size > 0 {
		return len(r.Mem) / int(r.size)
	}
	return 0
}

// Window makes an in region of elements lo to hi of s.
func Window[T any](name string, s []T, lo, hi int) Region {
	if lo < 0 || hi < lo || hi > len(s) {
		r := Slice(In, name, s[:0])
		if r.Err() == nil {
			r.Fail(fmt.Errorf("in(%s): there are no elements %d to %d of %d", name, lo, hi, len(s)))
		}
		return r
	}
	return Part(s, Slice(In, name, s[lo:hi]))
}

// Block makes a region of the rows top..bottom and the columns left..right of a matrix that
// is stored row by row in s, with width elements per row. A block of whole rows is one
// piece.
func Block[T any](mode Mode, name string, s []T, top, bottom, left, right, width int) Region {
	r := Slice(mode, name, s[:0])
	switch {
	case r.Err() != nil:
	case top < 0 || bottom < top || left < 0 || right < left || right > width:
		r.Fail(fmt.Errorf("%s(%s): there are no rows %d to %d with columns %d to %d of %d", mode, name, top, bottom, left, right, width))
	case top == bottom || left == right:
	case (bottom-1)*width+right > len(s):
		r.Fail(fmt.Errorf("%s(%s): rows %d to %d of %d elements need %d, and there are %d", mode, name, top, bottom, width, (bottom-1)*width+right, len(s)))
	default:
		whole := s[:0]
		if mode == In {
			whole = s // the task must not read the rest
		}
		r = Part(whole, Slice(mode, name, s[top*width+left:(bottom-1)*width+right]))
		if left > 0 || right < width {
			size := int(r.size)
			r.more = &more{rows: bottom - top, row: (right - left) * size, stride: width * size}
		}
	}
	return r
}

// Plain reports whether Expand would change nothing: no region was made by Block or Reaches, or
// has an error.
func Plain(regions []Region) bool {
	for i := range regions {
		if r := &regions[i]; r.Mode == leads || r.more != nil {
			return false
		}
	}
	return true
}

// Expand appends the regions of a task, with blocks split into rows.
func Expand(to, regions []Region) []Region {
	if Plain(regions) {
		return append(to, regions...)
	}
	for i := range regions {
		r := &regions[i]
		switch {
		case r.Mode == leads:
		case r.more == nil || r.more.rows == 0:
			to = append(to, *r)
		default:
			for k := range r.more.rows {
				row := *r
				row.more = nil
				row.Mem = r.Mem[k*r.more.stride:][:r.more.row]
				to = append(to, row)
			}
		}
	}
	return to
}

// Shared reports whether two pieces of memory overlap.
func Shared(a, b []byte) bool {
	alo, ahi := spanOf(a)
	blo, bhi := spanOf(b)
	return alo < bhi && blo < ahi
}

// span returns the addresses [lo, hi) of the region.
func (r *Region) span() (lo, hi uintptr) { return spanOf(r.Mem) }

func spanOf(mem []byte) (lo, hi uintptr) {
	lo = uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	return lo, lo + uintptr(len(mem))
}
