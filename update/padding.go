package update

import (
	"reflect"
	"sync"
)

// valueSpan is a range of bytes of an element that are values, not padding.
type valueSpan struct{ at, size int }

// layouts caches the value spans of each type; nil for one without padding.
var layouts sync.Map // reflect.Type → []valueSpan

// values returns the value spans of an element, or nil if there is no padding.
func values(t reflect.Type) []valueSpan {
	switch t.Kind() {
	case reflect.Struct, reflect.Array:
	default:
		return nil
	}
	if v, ok := layouts.Load(t); ok {
		return v.([]valueSpan)
	}
	spans := appendValues(nil, t, 0)
	if len(spans) == 1 && spans[0] == (valueSpan{0, int(t.Size())}) {
		spans = nil
	}
	layouts.Store(t, spans)
	return spans
}

func appendValues(to []valueSpan, t reflect.Type, at int) []valueSpan {
	switch t.Kind() {
	case reflect.Struct:
		for f := range t.Fields() {
			if f.Name != "_" {
				to = appendValues(to, f.Type, at+int(f.Offset))
			}
		}
		return to
	case reflect.Array:
		for i := range t.Len() {
			to = appendValues(to, t.Elem(), at+i*int(t.Elem().Size()))
		}
		return to
	}
	if n := len(to); n > 0 && to[n-1].at+to[n-1].size == at {
		to[n-1].size += int(t.Size())
		return to
	}
	return append(to, valueSpan{at, int(t.Size())})
}

// Padded reports whether values of the type have padding.
func Padded(t reflect.Type) bool { return values(t) != nil }

// Values returns the bytes of mem that are values of the type: mem itself, or a copy in buf
// without the padding, which may differ between replicas.
func Values(t reflect.Type, mem, buf []byte) []byte {
	spans := values(t)
	if spans == nil {
		return mem
	}
	buf = buf[:0]
	for size := int(t.Size()); len(mem) >= size && size > 0; mem = mem[size:] {
		for _, s := range spans {
			buf = append(buf, mem[s.at:s.at+s.size]...)
		}
	}
	return buf
}
