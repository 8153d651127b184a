package checked

import (
	"encoding/binary"
	"fmt"
	"reflect"
)

// layout describes where the values lie in an element of a pointer-free type. Bytes
// outside all leaves are padding, whose contents are undefined.
type layout struct {
	size   int
	solid  bool // there is no padding
	leaves []leaf

	patterns [poisons][]byte // made on first use, one for each poison
}

// leaf is a run of n values of one basic kind.
type leaf struct {
	at, size, n int
	kind        leafKind
	path        string // path within the element, "" if the leaf is the whole element
}

type leafKind uint8

const (
	leafFloat leafKind = iota
	leafSigned
	leafUnsigned
	leafBool
)

// layouts keeps the layout of each type.
type layouts map[reflect.Type]*layout

func (m layouts) of(t reflect.Type) *layout {
	l := m[t]
	if l == nil {
		l = &layout{size: int(t.Size())}
		l.walk(t, 0, "")
		covered := 0
		for _, f := range l.leaves {
			covered += f.size * f.n
		}
		l.solid = covered == l.size
		m[t] = l
	}
	return l
}

func (l *layout) walk(t reflect.Type, at int, path string) {
	switch k := t.Kind(); k {
	case reflect.Struct:
		for f := range t.Fields() {
			if f.Name != "_" {
				l.walk(f.Type, at+int(f.Offset), path+"."+f.Name)
			}
		}
	case reflect.Array:
		before := len(l.leaves)
		for i := range t.Len() {
			l.walk(t.Elem(), at+i*int(t.Elem().Size()), fmt.Sprintf("%s[%d]", path, i))
			if i == 0 && len(l.leaves) == before+1 && l.leaves[before].size*l.leaves[before].n == int(t.Elem().Size()) {
				l.leaves[before].n *= t.Len() // all values are of one kind
				l.leaves[before].path = path
				return
			}
		}
	default:
		f := leaf{at: at, size: int(t.Size()), n: 1, path: path}
		switch k {
		case reflect.Float32, reflect.Float64:
		case reflect.Complex64, reflect.Complex128:
			f.size, f.n = f.size/2, 2
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			f.kind = leafSigned
		case reflect.Bool:
			f.kind = leafBool
		default:
			f.kind = leafUnsigned
		}
		l.leaves = append(l.leaves, f)
	}
}

// search returns the first value in n bytes for which wrong returns true.
func (l *layout) search(n int, wrong func(at, size int) bool) (element int, path string, found bool) {
	for e := range n / l.size {
		for _, f := range l.leaves {
			for v := range f.n {
				if wrong(e*l.size+f.at+v*f.size, f.size) {
					path := f.path
					if f.n > 1 {
						path = fmt.Sprintf("%s[%d]", path, v)
					}
					return e, path, true
				}
			}
		}
	}
	return 0, "", false
}

// values appends the bytes of mem without padding.
func (l *layout) values(b, mem []byte) []byte {
	if l.solid {
		return append(b, mem...)
	}
	for e := range len(mem) / l.size {
		for _, f := range l.leaves {
			at := e*l.size + f.at
			b = append(b, mem[at:at+f.n*f.size]...)
		}
	}
	return b
}

// poison is a kind of contents that a program does not expect, but that most bodies can
// compute with: finite values of either sign, which are all different.
type poison uint8

const (
	poisonA    poison = iota // large and positive
	poisonB                  // of order 1 and negative
	poisonMark               // a value that identifies where it was read
	poisons    = iota
)

// fill writes poison into the first n elements of mem, the memory of region k of a task.
// Different regions get different values.
func (l *layout) fill(mem []byte, p poison, k, n int) {
	i := uint64(k) << 40
	for e := range n {
		for _, f := range l.leaves {
			at := e*l.size + f.at
			for range f.n {
				i++
				f.put(mem[at:at+f.size], p, scramble(i))
				at += f.size
			}
		}
	}
}

// period is the number of elements after which the contents that soak writes repeat. It
// is prime, so that no stride of a program coincides with it.
const period = 8191

// soak writes poison into mem. It is faster than fill. Pieces with different starts get
// different values.
func (l *layout) soak(mem []byte, p poison, start int) {
	if !l.solid {
		l.fill(mem, p, start, len(mem)/l.size)
		return
	}
	pattern := l.pattern(p)
	for at := start % period * l.size; len(mem) > 0; at = 0 {
		mem = mem[copy(mem, pattern[at:]):]
	}
}

// soaked returns the first elements [lo, hi) of mem at or after element from that are
// unchanged since soak.
func (l *layout) soaked(mem []byte, p poison, start, from int) (lo, hi int) {
	n := len(mem) / l.size
	if !l.solid {
		return n, n // memory with padding is not tracked
	}
	pattern := l.pattern(p)
	is := func(e int) bool {
		at := (start + e) % period * l.size
		return string(mem[e*l.size:(e+1)*l.size]) == string(pattern[at:at+l.size])
	}
	for lo = from; lo < n && !is(lo); lo++ {
	}
	for hi = lo; hi < n && is(hi); hi++ {
	}
	return lo, hi
}

func (l *layout) pattern(p poison) []byte {
	if l.patterns[p] == nil && l.size > 0 {
		l.patterns[p] = make([]byte, period*l.size)
		l.fill(l.patterns[p], p, 0, period)
	}
	return l.patterns[p]
}

// scramble turns a counter into random-looking bits (the last steps of SplitMix64).
func scramble(i uint64) uint64 {
	i *= 0x9e3779b97f4a7c15
	i = (i ^ i>>30) * 0xbf58476d1ce4e5b9
	i = (i ^ i>>27) * 0x94d049bb133111eb
	return i ^ i>>31
}

// put writes one value made from random bits. Integers are small, because they may be loop
// bounds. A negative integer causes a panic if it is used as an index. A mark has more
// random bits. A mark in a signed integer is negative, so that it is not the length of a
// loop.
func (f *leaf) put(mem []byte, p poison, random uint64) {
	var v uint64
	switch f.kind {
	case leafBool:
		v = uint64(1 - p%2)
	case leafFloat:
		if f.size == 8 {
			exponent := uint64(1023 + 30)
			if p == poisonB {
				exponent = 1<<11 | 1024 // including the sign
			}
			v = exponent<<52 | random>>12
		} else {
			exponent := uint64(127 + 20)
			if p == poisonB {
				exponent = 1<<8 | 128
			}
			v = exponent<<23 | random>>41
			if p == poisonMark {
				v = 6<<28 | random>>36 // exponents from 65 to 96
			}
		}
	case leafSigned:
		if p == poisonMark {
			v = 1<<(8*f.size-1) | random>>(64-f.markBits())
			break
		}
		fallthrough
	default:
		width := min(8*f.size-2, 16)
		if p == poisonB && f.kind == leafUnsigned {
			width -= 2
		}
		v = 1<<width | random&(1<<width-1)
		if p == poisonB && f.kind == leafSigned {
			v = -v
		}
	}
	f.store(mem, v)
}

// markBits returns the number of random bits in a mark.
func (f *leaf) markBits() int {
	switch {
	case f.kind == leafBool:
		return 0
	case f.kind == leafFloat && f.size == 8:
		return 52
	case f.kind == leafFloat:
		return 28
	case f.kind == leafSigned:
		return 8*f.size - 2
	}
	return min(8*f.size-2, 16)
}

func (f *leaf) store(mem []byte, v uint64) {
	switch f.size {
	case 1:
		mem[0] = byte(v)
	case 2:
		binary.NativeEndian.PutUint16(mem, uint16(v))
	case 4:
		binary.NativeEndian.PutUint32(mem, uint32(v))
	case 8:
		binary.NativeEndian.PutUint64(mem, v)
	}
}
