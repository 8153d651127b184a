package checkpoint

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/zeebo/xxh3"

	"github.com/intrahpc/intra/update"
)

// measured is an interface of package intra. Values of types that implement it may differ
// between replicas.
var measured = reflect.TypeFor[interface{ Measured() }]()

// Hash returns a hash of the current state: of the contents and sizes of all variables
// except measured ones. It skips padding, because padding may differ between replicas.
func (s *State) Hash(seed uint64) (uint64, error) {
	var buf []byte
	for i := range s.vars {
		v := &s.vars[i]
		t := v.element()
		if v.measured() {
			continue
		}
		mem, err := v.memory()
		if err != nil {
			return 0, fmt.Errorf("compare %q: %w", v.name, err)
		}
		seed = xxh3.HashSeed(binary.LittleEndian.AppendUint64(nil, uint64(len(mem))), seed)
		if v.kind == Binary || !update.Padded(t) {
			seed = xxh3.HashSeed(mem, seed)
			continue
		}
		for piece := max(ChunkBytes/v.elem, 1) * v.elem; len(mem) > 0; mem = mem[min(piece, len(mem)):] {
			buf = update.Values(t, mem[:min(piece, len(mem))], buf)
			seed = xxh3.HashSeed(buf, seed)
		}
	}
	return seed, nil
}

// Variable is the current value of a registered variable.
type Variable struct {
	Name string
	Type reflect.Type // type of the elements in Mem; nil: Mem is the result of MarshalBinary
	Mem  []byte
}

// Variables returns all variables except measured ones.
func (s *State) Variables() (all []Variable, err error) {
	for i := range s.vars {
		v := &s.vars[i]
		if v.measured() {
			continue
		}
		x := Variable{Name: v.name, Type: v.element()}
		if v.kind == Binary {
			x.Type = nil
		}
		if x.Mem, err = v.memory(); err != nil {
			return nil, fmt.Errorf("read %q: %w", v.name, err)
		}
		all = append(all, x)
	}
	return all, nil
}

// element returns the type of the elements in the memory of v.
func (v *variable) element() reflect.Type {
	if v.kind == Slice {
		return v.v.Type().Elem()
	}
	return v.v.Type()
}

func (v *variable) measured() bool {
	t := v.element()
	return t.Implements(measured) || reflect.PointerTo(t).Implements(measured)
}

// Memory returns the memory of the variables, except of those that MarshalBinary encodes.
func (s *State) Memory() (all [][]byte) {
	for i := range s.vars {
		if v := &s.vars[i]; v.kind != Binary {
			mem, _ := v.memory() // only MarshalBinary can fail
			all = append(all, mem)
		}
	}
	return all
}
