package update

import (
	"errors"
	"fmt"
	"reflect"
	"sync"
	"time"
)

// ErrPointers marks a type whose values cannot be sent as bytes.
var ErrPointers = errors.New("holds pointers")

// verdicts caches the result for each type. Types never change, and an inspection of a
// large struct would be too slow for every launch.
var verdicts sync.Map // reflect.Type → error or nil

// PointerFree returns nil if the bytes of a value of type t are the whole value. Otherwise
// it returns an error that names the first pointer in it.
func PointerFree(t reflect.Type) error {
	switch t.Kind() {
	case reflect.Float64, reflect.Float32, reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint8:
		return nil
	}
	if v, ok := verdicts.Load(t); ok {
		err, _ := v.(error)
		return err
	}
	var err error
	if path, hint := findPointer(t, t.String()); path != "" {
		err = fmt.Errorf("type %s %w: %s%s", t, ErrPointers, path, hint)
	}
	verdicts.Store(t, err)
	return err
}

// findPointer returns the path to the first pointer in t, or "", and a hint how to avoid
// it.
func findPointer(t reflect.Type, path string) (found, hint string) {
	if t == reflect.TypeFor[time.Time]() {
		return path + " is a time.Time, which holds a *time.Location", "; use UnixNano"
	}
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return "", ""
	case reflect.Array:
		if t.Len() == 0 {
			return "", ""
		}
		return findPointer(t.Elem(), path+"[…]")
	case reflect.Struct:
		for f := range t.Fields() {
			if found, hint := findPointer(f.Type, path+"."+f.Name); found != "" {
				return found, hint
			}
		}
		return "", ""
	}
	return fmt.Sprintf("%s is a %s", path, t.Kind()), ""
}
