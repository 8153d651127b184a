package checked

import (
	"math"
	"reflect"
	"unsafe"

	"github.com/zeebo/xxh3"
)

// readable returns the map so that its entries can be read, even if it was read from an
// unexported field.
func readable(m reflect.Value) reflect.Value {
	at := m.UnsafePointer()
	return reflect.NewAt(m.Type(), unsafe.Pointer(&at)).Elem()
}

// hashMap returns a hash of the entries of a map, which does not depend on their order.
// The hash does not include the memory to which pointers in the entries refer.
func hashMap(m reflect.Value) uint64 {
	sum := uint64(m.Len())
	key, value := reflect.New(m.Type().Key()).Elem(), reflect.New(m.Type().Elem()).Elem()
	for it := m.MapRange(); it.Next(); {
		key.SetIterKey(it)
		value.SetIterValue(it)
		sum += scramble(hashValue(hashValue(0, key), value))
	}
	return sum
}

// hashValue adds a value to a hash.
func hashValue(h uint64, v reflect.Value) uint64 {
	add := func(x uint64) uint64 { return scramble(h^x) + 1 }
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return add(1)
		}
		return add(0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return add(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return add(v.Uint())
	case reflect.Float32, reflect.Float64:
		return add(math.Float64bits(v.Float()))
	case reflect.Complex64, reflect.Complex128:
		h = add(math.Float64bits(real(v.Complex())))
		return add(math.Float64bits(imag(v.Complex())))
	case reflect.String:
		return add(xxh3.HashString(v.String()))
	case reflect.Slice:
		h = add(uint64(v.Pointer()))
		return add(uint64(v.Len()))
	case reflect.Interface:
		if v.IsNil() {
			return add(0)
		}
		return hashValue(add(1), v.Elem())
	case reflect.Struct:
		if !foreign(v.Type()) {
			for i := range v.NumField() {
				h = hashValue(h, v.Field(i))
			}
		}
		return h
	case reflect.Array:
		for i := range v.Len() {
			h = hashValue(h, v.Index(i))
		}
		return h
	case reflect.Pointer, reflect.Map, reflect.Chan, reflect.Func, reflect.UnsafePointer:
		return add(uint64(v.Pointer()))
	}
	return h
}
