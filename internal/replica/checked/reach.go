package checked

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/zeebo/xxh3"

	"github.com/intrahpc/intra/internal/replica/engine"
	"github.com/intrahpc/intra/update"
)

// argument is an argument through whose pointers a task reads memory that no region
// names. A task that changes this memory keeps state that the other replicas do not
// receive.
type argument struct {
	name  string
	value any
}

// reached is the memory that an argument refers to, directly or indirectly.
type reached struct {
	parts []part
	last  []uint64 // hash of each part, after the last task
}

// part is one piece of such memory, or a map.
type part struct {
	path string
	mem  []byte
	of   reflect.Value // the map
}

// Limits of the memory that is followed from one argument.
const (
	mostDepth = 12
	mostParts = 4096
	mostBytes = 1 << 20
)

// arguments returns the arguments of a launch that only refer to memory.
func arguments(regions []update.Region) []argument {
	var list []argument
	for _, r := range regions {
		if r.Reach != nil {
			list = append(list, argument{r.Name, r.Reach})
		}
	}
	return list
}

// reach returns the memory that an argument refers to. Tasks of a section often share
// it.
func (c *Section) reach(a argument) *reached {
	v := reflect.ValueOf(a.value)
	if v.Kind() != reflect.Pointer && v.Kind() != reflect.Map {
		r := &reached{}
		(&follower{section: c, to: r, seen: map[visit]bool{}}).value(v, a.name, 0)
		r.last = r.hashes(nil)
		return r
	}
	key := visit{v.UnsafePointer(), v.Type()}
	r := c.reached[key]
	if r == nil {
		r = &reached{}
		(&follower{section: c, to: r, seen: map[visit]bool{}}).value(v, a.name, 0)
		r.last = r.hashes(nil)
		if c.reached == nil {
			c.reached = make(map[visit]*reached)
		}
		c.reached[key] = r
	}
	return r
}

func (r *reached) hashes(all []uint64) []uint64 {
	for _, p := range r.parts {
		if p.of.IsValid() {
			all = append(all, hashMap(p.of))
		} else {
			all = append(all, xxh3.Hash(p.mem))
		}
	}
	return all
}

// changed returns the first part that has changed since the last task, and records the
// current contents of all parts.
func (r *reached) changed() (path string, changed bool) {
	now := r.hashes(nil)
	at := -1
	for i := range now {
		if now[i] != r.last[i] && at < 0 {
			at = i
		}
	}
	r.last = now
	if at < 0 {
		return "", false
	}
	return r.parts[at].path, true
}

// watchArguments runs do, which runs the body of task i, and finds the memory behind an
// argument that the body has changed. A body that leaves the same contents there when
// it runs again uses it as work space.
func (c *Section) watchArguments(i int, do, again func()) {
	var all []*reached
	for _, a := range c.arguments[i] {
		all = append(all, c.reach(a))
	}
	do()
	any := false
	for _, r := range all {
		_, changed := r.changed()
		any = any || changed
	}
	if !any {
		return
	}
	again()
	for k, r := range all {
		if path, changed := r.changed(); changed {
			c.keepsState(i, c.arguments[i][k].name, path)
		}
	}
}

func (c *Section) keepsState(i int, name, path string) {
	c.found(i, fmt.Sprintf("in(%s)", name), -1, fmt.Sprintf(
		"in(%s) leads to %s, which the body changes each time that it runs: another replica that runs the task does not change it here; keep no state behind in: name it in inout, or return it by reduce or out", name, path))
}

type visit struct {
	at unsafe.Pointer
	of reflect.Type
}

// follower collects the memory that a value refers to.
type follower struct {
	section *Section
	to      *reached
	seen    map[visit]bool
	bytes   int
}

func (f *follower) full() bool { return len(f.to.parts) >= mostParts || f.bytes >= mostBytes }

// value follows a value. The value itself is memory if it is addressable.
func (f *follower) value(v reflect.Value, path string, depth int) {
	if depth > mostDepth || f.full() || !v.IsValid() || foreign(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		f.header(v, path)
		if v.IsNil() || f.visited(v.UnsafePointer(), v.Type()) {
			return
		}
		f.value(v.Elem(), path, depth+1)
	case reflect.Interface:
		if !v.IsNil() {
			f.header(v, path)
			f.value(v.Elem(), path, depth+1)
		}
	case reflect.Slice:
		f.header(v, path)
		if v.Len() == 0 || f.visited(v.UnsafePointer(), v.Type()) {
			return
		}
		if update.PointerFree(v.Type().Elem()) == nil {
			f.memory(unsafe.Slice((*byte)(v.UnsafePointer()), v.Len()*int(v.Type().Elem().Size())), path)
			return
		}
		for i := range v.Len() {
			f.value(v.Index(i), fmt.Sprintf("%s[%d]", path, i), depth+1)
		}
	case reflect.Map:
		f.header(v, path)
		if v.IsNil() || f.visited(v.UnsafePointer(), v.Type()) {
			return
		}
		f.to.parts = append(f.to.parts, part{path: path, of: v})
		f.bytes += 64 * v.Len()
		for it := v.MapRange(); it.Next(); {
			f.value(it.Value(), path+"[…]", depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f.value(v.Field(i), path+"."+v.Type().Field(i).Name, depth)
		}
	case reflect.Array:
		if update.PointerFree(v.Type()) == nil {
			f.header(v, path)
			return
		}
		for i := range v.Len() {
			f.value(v.Index(i), fmt.Sprintf("%s[%d]", path, i), depth+1)
		}
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
	default:
		f.header(v, path)
	}
}

// header adds the memory of a value itself.
func (f *follower) header(v reflect.Value, path string) {
	if v.CanAddr() {
		f.memory(unsafe.Slice((*byte)(unsafe.Pointer(v.UnsafeAddr())), int(v.Type().Size())), path)
	}
}

func (f *follower) visited(at unsafe.Pointer, of reflect.Type) bool {
	k := visit{at, of}
	was := f.seen[k]
	f.seen[k] = true
	return was
}

// memory adds the parts of mem that no task of the section names.
func (f *follower) memory(mem []byte, path string) {
	mem = mem[:min(len(mem), mostBytes-f.bytes)]
	f.bytes += len(mem)
	lo, hi := bounds(mem)
	s := &f.section.shadow
	at := lo
	for i := s.first(lo); at < hi; i++ {
		end := hi
		if i < len(s.spans) {
			end = min(hi, max(at, s.spans[i].lo))
		}
		if at < end {
			f.to.parts = append(f.to.parts, part{path: path, mem: mem[at-lo : end-lo]})
		}
		if i >= len(s.spans) || s.spans[i].lo >= hi {
			return
		}
		at = s.spans[i].hi
	}
}

// hashMap returns a hash that does not depend on the order of the entries. Values with
// pointers count by their pointers or by their types.
func hashMap(m reflect.Value) uint64 {
	sum := uint64(m.Len())
	for it := m.MapRange(); it.Next(); {
		sum += xxh3.Hash(fmt.Append(nil, flat(it.Key()), "\x00", flat(it.Value())))
	}
	return sum
}

func flat(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Chan, reflect.UnsafePointer, reflect.Map:
		return v.Pointer()
	case reflect.Slice:
		return []uintptr{v.Pointer(), uintptr(v.Len())}
	case reflect.Interface, reflect.Struct, reflect.Array:
		return v.Type() // entries of these kinds are not compared
	}
	return v
}

// module is the path of this module.
var module = strings.TrimSuffix(reflect.TypeFor[engine.Engine]().PkgPath(), "/internal/replica/engine")

// foreign reports whether a type belongs to the runtime of programs, or to a package of
// the standard library whose values change by themselves.
func foreign(t reflect.Type) bool {
	path := t.PkgPath()
	if rest, ok := strings.CutPrefix(path, module); ok {
		first, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
		return !slices.Contains([]string{"kernels", "examples", "testdata"}, first) && !strings.Contains(rest, "/testdata/")
	}
	first, _, _ := strings.Cut(path, "/")
	return slices.Contains([]string{"sync", "context", "os", "io", "bufio", "log", "net", "time", "testing", "runtime", "reflect", "internal"}, first)
}
