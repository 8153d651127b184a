package checkpoint

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/intrahpc/intra/update"
)

// ErrMismatch means that a saved state differs from the state that the program registers.
var ErrMismatch = errors.New("the saved state does not fit the program")

// State holds the variables that a program has registered, in order. All processes of a
// rank register the same variables. The zero State is empty. Only the goroutine of the
// program uses it.
type State struct {
	vars []variable
	from *Image // source of the contents of new variables; nil: the state is not restored

	// Alloc returns zeroed memory for a restored slice, nil if it has none. Alloc
	// may be nil.
	Alloc func(size int) []byte
}

// variable is a registered variable.
type variable struct {
	name string
	kind Kind
	typ  string
	elem int           // size of an element in bytes
	v    reflect.Value // the variable itself, addressable
}

// Kind determines how the contents of a variable are read and written.
type Kind uint8

// The kinds of variables.
const (
	Value  Kind = 1 + iota // a variable of a pointer-free type
	Slice                  // a slice of elements of such a type; its length is part of the state
	Binary                 // a variable that is encoded by MarshalBinary
)

func (k Kind) String() string {
	if k < Value || k > Binary {
		return fmt.Sprintf("kind %d", uint8(k))
	}
	return [...]string{"value", "slice", "binary"}[k-Value]
}

// From sets the image from which variables get their contents when they are added.
func (s *State) From(im *Image) { s.from = im }

// maxName bounds the length of names of variables and types in files.
const maxName = 1 << 12

// Add registers the variable to which x points, and restores its contents if the state is
// restored. If the saved slice has another length, the variable gets a new slice.
// Otherwise its memory stays in place.
func (s *State) Add(name string, x any) error {
	switch {
	case name == "" || len(name) > maxName:
		return fmt.Errorf("a name of %d bytes, want 1 to %d", len(name), maxName)
	case slices.ContainsFunc(s.vars, func(v variable) bool { return v.name == name }):
		return errors.New("the name is taken already")
	}
	v, err := newVariable(name, reflect.ValueOf(x))
	if err != nil {
		return err
	}
	if s.from != nil {
		if err := v.restore(s.from, s.Alloc); err != nil {
			return err
		}
	}
	s.vars = append(s.vars, v)
	return nil
}

func newVariable(name string, ptr reflect.Value) (variable, error) {
	if ptr.Kind() != reflect.Pointer || ptr.IsNil() {
		return variable{}, errors.New("a nil pointer, want the address of a variable")
	}
	v := variable{name: name, kind: Value, v: ptr.Elem()}
	t := v.v.Type()
	v.typ = t.String()
	elem := t
	switch _, in := ptr.Interface().(encoding.BinaryUnmarshaler); {
	case in && ptr.Type().Implements(reflect.TypeFor[encoding.BinaryMarshaler]()):
		v.kind, v.elem = Binary, 1
		return v, nil
	case t.Kind() == reflect.Pointer && t.Implements(reflect.TypeFor[encoding.BinaryUnmarshaler]()):
		return v, fmt.Errorf("the address of a pointer of type %s: hand over the pointer itself", t)
	case t.Kind() == reflect.Slice:
		v.kind, elem = Slice, t.Elem()
	}
	if err := update.PointerFree(elem); err != nil {
		return v, fmt.Errorf("%w; register what it is made of, or give *%s the methods MarshalBinary and UnmarshalBinary", err, t)
	}
	v.elem = int(elem.Size())
	switch {
	case v.elem == 0:
		return v, fmt.Errorf("type %s has no contents", t)
	case len(v.typ) > maxName:
		return v, fmt.Errorf("the name of its type has %d bytes: declare a type for it", len(v.typ))
	}
	return v, nil
}

// memory returns the contents of v: the program's own memory, or the result of
// MarshalBinary.
func (v *variable) memory() ([]byte, error) {
	switch v.kind {
	case Binary:
		b, err := v.v.Addr().Interface().(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil {
			return nil, fmt.Errorf("MarshalBinary of %s: %w", v.typ, err)
		}
		return b, nil
	case Slice:
		return unsafe.Slice((*byte)(v.v.UnsafePointer()), v.v.Len()*v.elem), nil
	}
	return unsafe.Slice((*byte)(v.v.Addr().UnsafePointer()), v.elem), nil
}

// restore restores v from the contents that were saved under its name.
func (v *variable) restore(from *Image, alloc func(size int) []byte) error {
	i := slices.IndexFunc(from.vars, func(o savedVar) bool { return o.name == v.name })
	if i < 0 {
		return fmt.Errorf("%w: it was not saved (what was: %s)", ErrMismatch, list(from.names()))
	}
	o := &from.vars[i]
	if o.kind != v.kind || o.typ != v.typ || o.elem != v.elem {
		return fmt.Errorf("%w: %s %s with elements of %d bytes was saved, %s %s with %d bytes is registered",
			ErrMismatch, o.kind, o.typ, o.elem, v.kind, v.typ, v.elem)
	}
	switch v.kind {
	case Binary:
		if err := v.v.Addr().Interface().(encoding.BinaryUnmarshaler).UnmarshalBinary(slices.Concat(o.chunks...)); err != nil {
			return fmt.Errorf("UnmarshalBinary of %s: %w", v.typ, err)
		}
		return nil
	case Slice:
		if n := o.size() / o.elem; n != v.v.Len() {
			v.v.Set(v.slice(n, alloc))
		}
	}
	mem, err := v.memory()
	if err != nil {
		return err
	}
	for _, c := range o.chunks {
		mem = mem[copy(mem, c):]
	}
	return nil
}

// slice returns a new slice of n elements for v.
func (v *variable) slice(n int, alloc func(size int) []byte) reflect.Value {
	if alloc != nil {
		if mem := alloc(n * v.elem); mem != nil {
			s := reflect.SliceAt(v.v.Type().Elem(), unsafe.Pointer(unsafe.SliceData(mem)), n)
			return s.Convert(v.v.Type())
		}
	}
	return reflect.MakeSlice(v.v.Type(), n, n)
}

// Settle ends the restoring of variables. It returns an error if saved variables
// were not registered.
func (s *State) Settle() error {
	if s.from == nil {
		return nil
	}
	var unused []string
	for _, name := range s.from.names() {
		if !slices.ContainsFunc(s.vars, func(v variable) bool { return v.name == name }) {
			unused = append(unused, name)
		}
	}
	s.from = nil
	if len(unused) > 0 {
		return fmt.Errorf("%w: saved but not registered: %s", ErrMismatch, list(unused))
	}
	return nil
}

// Image returns the current state. It refers to the memory of the program. So contents
// that are needed later must be copied before the program continues.
func (s *State) Image() (*Image, error) {
	im := &Image{vars: make([]savedVar, len(s.vars))}
	for i := range s.vars {
		v := &s.vars[i]
		mem, err := v.memory()
		if err != nil {
			return nil, fmt.Errorf("save %q: %w", v.name, err)
		}
		im.vars[i] = savedVar{name: v.name, kind: v.kind, typ: v.typ, elem: v.elem, chunks: split(mem)}
	}
	return im, nil
}

// list returns names as text. It returns only the first few names of many.
func list(names []string) string {
	const most = 10
	if len(names) == 0 {
		return "nothing"
	}
	more := ""
	if n := len(names) - most; n > 0 {
		names, more = names[:most], fmt.Sprintf(" and %d more", n)
	}
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(quoted, ", ") + more
}
