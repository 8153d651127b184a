package comm

import (
	"fmt"
	"reflect"
	"sync"
	"unsafe"
)

// checked caches the result of checkType for each element type in use.
var checked sync.Map // reflect.Type -> error

// checkElement rejects types that cannot be copied to another process.
func checkElement[T any]() error {
	var zero T
	// The zero value of an interface has no type.
	if t := reflect.TypeOf(zero); t != nil && t.Kind() >= reflect.Bool && t.Kind() <= reflect.Complex128 {
		return nil // a number
	}
	return checkOnce(reflect.TypeFor[T]())
}

// checkOnce is checkElement for types that are not numbers.
func checkOnce(t reflect.Type) error {
	v, ok := checked.Load(t)
	if !ok {
		v = checkType(t)
		checked.Store(t, v)
	}
	if v == nil {
		return nil
	}
	return v.(error)
}

func checkType(t reflect.Type) any {
	if path, bad := pointerIn(t); bad != nil {
		what := fmt.Errorf("%w: %v holds a pointer (%v%s)", ErrType, t, bad, path)
		if t.String() == "time.Time" || bad.String() == "*time.Location" {
			what = fmt.Errorf("%w: %v holds a pointer (%v%s): use UnixNano", ErrType, t, bad, path)
		}
		return what
	}
	if t.Size() == 0 {
		return fmt.Errorf("%w: %v has no size", ErrType, t)
	}
	return nil
}

// pointerIn returns the first type inside t that contains a pointer, and the path to it.
func pointerIn(t reflect.Type) (path string, bad reflect.Type) {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return "", nil
	case reflect.Array:
		if t.Len() == 0 {
			return "", nil
		}
		return pointerIn(t.Elem())
	case reflect.Struct:
		for f := range t.NumField() {
			field := t.Field(f)
			if path, bad := pointerIn(field.Type); bad != nil {
				if path == "" {
					path = " in field "
				}
				return path + "." + field.Name, bad
			}
		}
		return "", nil
	}
	return "", t
}

func sizeOf[T any]() int {
	var zero T
	return int(unsafe.Sizeof(zero))
}

// bytesOf returns the memory of a slice whose element type has been checked.
func bytesOf[T any](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*sizeOf[T]())
}

// elementsOf is the inverse of bytesOf.
func elementsOf[T any](b []byte) []T {
	if len(b) == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/sizeOf[T]())
}
