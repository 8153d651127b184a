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

// argument is an argument through whose pointers a task reads memory that no region names.
// If a task changes this memory, it keeps state that the other replicas do not receive.
type argument struct {
	name  string
	value any
}

// reached is the memory that an argument refers to, directly or indirectly.
type reached struct {
	parts []part
	steps []step
	last  []uint64 // hash of each part after the last task
	now   []uint64 // memory for the next hashes
	full  bool     // one of the bounds was reached
}

// part is a contiguous piece of the memory that is reached, or a map.
type part struct {
	at  int // index of the last step that leads to it
	mem []byte
	of  reflect.Value // the map
}

// step leads from a value to another value that it refers to.
type step struct {
	up    int    // index of the step before, -1 for the argument
	field string // for a struct; otherwise element is used
	index int
}

// These bound the memory that is followed from one argument.
const (
	mostParts = 4096
	mostBytes = 1 << 20
)

// arguments returns the arguments of a launch that only refer to memory, without naming
// it.
func arguments(regions []update.Region) []argument {
	var list []argument
	for _, r := range regions {
		if v, ok := r.Reach(); ok {
			list = append(list, argument{r.Name, v})
		}
	}
	return list
}

// reach returns the memory that argument a of task i refers to. Tasks of a section often
// share it.
func (c *Section) reach(i int, a argument) *reached {
	v := reflect.ValueOf(a.value)
	key := newRoot(v)
	if r := c.reached[key]; r != nil {
		return r
	}
	r := &reached{}
	(&follower{section: c, to: r, seen: make(map[visit]bool)}).value(v, -1)
	r.last = r.hashes(nil)
	if r.full {
		c.reachesMore(i, a.name, r)
	}
	if c.reached == nil {
		c.reached = make(map[root]*reached)
	}
	c.reached[key] = r
	return r
}

// root identifies an argument. Arguments with the same root refer to the same memory.
type root struct {
	of       reflect.Type
	contents string // contents of the argument, as bytes
}

func newRoot(v reflect.Value) root {
	own := reflect.New(v.Type())
	own.Elem().Set(v)
	return root{v.Type(), string(unsafe.Slice((*byte)(own.UnsafePointer()), v.Type().Size()))}
}

// reachesMore records, as a detail for the user, that only a part of the memory behind an
// argument is watched.
func (c *Section) reachesMore(i int, name string, r *reached) {
	t := &c.s.Tasks[i]
	c.trial.engine.Detail(fmt.Sprintf("%s: in(%s) of %s leads to more than %d MiB or %d pieces: checked mode has followed only the first, up to %s",
		t.At, name, t.Kernel.Name, mostBytes>>20, mostParts, r.path(name, r.parts[len(r.parts)-1].at)))
}

// hashes appends the hash of each part.
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
// current contents of all parts. The argument has that name.
func (r *reached) changed(name string) (path string, changed bool) {
	now := r.hashes(r.now[:0])
	for i := range now {
		if now[i] != r.last[i] && !changed {
			path, changed = r.path(name, r.parts[i].at), true
		}
	}
	r.last, r.now = now, r.last
	return path, changed
}

// path describes the way from an argument to the end of a step.
func (r *reached) path(name string, at int) string {
	if at < 0 {
		return name
	}
	st := &r.steps[at]
	switch {
	case st.field != "":
		return r.path(name, st.up) + "." + st.field
	case st.index < 0:
		return r.path(name, st.up) + "[…]"
	}
	return fmt.Sprintf("%s[%d]", r.path(name, st.up), st.index)
}

// watchArguments calls do, which runs the body of task i, and finds memory behind an
// argument that the body has changed. If the body leaves the same contents there when it
// runs again, that memory is work space.
func (c *Section) watchArguments(i int, do, again func()) {
	var all []*reached
	for _, a := range c.arguments[i] {
		all = append(all, c.reach(i, a))
	}
	do()
	any := false
	for _, r := range all {
		_, changed := r.changed("")
		any = any || changed
	}
	if !any {
		return
	}
	again()
	for k, r := range all {
		name := c.arguments[i][k].name
		if path, changed := r.changed(name); changed {
			c.keepsState(i, name, path)
		}
	}
}

func (c *Section) keepsState(i int, name, path string) {
	c.found(i, fmt.Sprintf("in(%s)", name), -1, fmt.Sprintf(
		"in(%s) leads to %s, which the body changes each time that it runs: another replica that runs the task does not change it here; keep no state behind in: name it in inout, or return it by reduce or out", name, path))
}

// visit is a value to be followed: one to which a pointer or a map refers, or the first n
// elements of a slice.
type visit struct {
	at unsafe.Pointer
	of reflect.Type
	n  int
}

// follower collects the memory that a value refers to.
type follower struct {
	section *Section
	to      *reached
	seen    map[visit]bool
	bytes   int
}

// full reports whether a bound is reached, and records it.
func (f *follower) full() bool {
	is := len(f.to.parts) >= mostParts || f.bytes >= mostBytes
	f.to.full = f.to.full || is
	return is
}

// field and element record a step that begins at the end of step up.
func (f *follower) field(up int, name string) int { return f.step(step{up: up, field: name}) }

func (f *follower) element(up, index int) int { return f.step(step{up: up, index: index}) }

func (f *follower) step(st step) int {
	f.to.steps = append(f.to.steps, st)
	return len(f.to.steps) - 1
}

// value follows a value at the end of step at. If the value is addressable, its own memory
// is added, too.
func (f *follower) value(v reflect.Value, at int) {
	if !v.IsValid() || foreign(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Field(i); field.Type().Size() > 0 {
				f.value(field, f.field(at, v.Type().Field(i).Name))
			}
		}
	case reflect.Array:
		if update.PointerFree(v.Type()) == nil {
			f.header(v, at)
			return
		}
		for i := range v.Len() {
			f.value(v.Index(i), f.element(at, i))
		}
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
	default:
		f.header(v, at)
		f.leads(v, at)
	}
}

// leads follows the references in v.
func (f *follower) leads(v reflect.Value, at int) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() && !f.visited(visit{at: v.UnsafePointer(), of: v.Type()}) && !f.full() {
			f.value(v.Elem(), at)
		}
	case reflect.Interface:
		if !v.IsNil() {
			f.value(v.Elem(), at)
		}
	case reflect.Slice:
		f.elements(v, at)
	case reflect.Map:
		if v.IsNil() || f.visited(visit{at: v.UnsafePointer(), of: v.Type()}) || f.full() {
			return
		}
		f.to.parts = append(f.to.parts, part{at: at, of: readable(v)})
		f.bytes += v.Len() * int(v.Type().Key().Size()+v.Type().Elem().Size())
		if update.PointerFree(v.Type().Elem()) == nil {
			return
		}
		for it := v.MapRange(); it.Next() && !f.full(); {
			f.value(it.Value(), f.element(at, -1))
		}
	}
}

// elements follows the elements of a slice.
func (f *follower) elements(v reflect.Value, at int) {
	of := v.Type().Elem()
	if v.Len() == 0 || foreign(of) || f.visited(visit{v.UnsafePointer(), v.Type(), v.Len()}) || f.full() {
		return
	}
	refers := false // whether each element contains exactly one reference
	switch of.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		refers = true
	}
	free := update.PointerFree(of) == nil
	if free || refers || of.Kind() == reflect.String {
		f.memory(unsafe.Slice((*byte)(v.UnsafePointer()), v.Len()*int(of.Size())), at)
	}
	if free || of.Kind() == reflect.String {
		return
	}
	for i := 0; i < v.Len() && !f.full(); i++ {
		if refers {
			f.leads(v.Index(i), f.element(at, i))
		} else {
			f.value(v.Index(i), f.element(at, i))
		}
	}
}

// header adds the memory of the value itself.
func (f *follower) header(v reflect.Value, at int) {
	if v.CanAddr() {
		f.memory(unsafe.Slice((*byte)(unsafe.Pointer(v.UnsafeAddr())), int(v.Type().Size())), at)
	}
}

func (f *follower) visited(k visit) bool {
	was := f.seen[k]
	f.seen[k] = true
	return was
}

// memory adds the parts of mem that no task of the section names.
func (f *follower) memory(mem []byte, at int) {
	lo, hi := bounds(mem)
	s := &f.section.shadow
	from := lo
	for i := s.first(lo); from < hi; i++ {
		end := hi
		if i < len(s.spans) {
			end = min(hi, max(from, s.spans[i].lo))
		}
		if from < end {
			if f.full() {
				return
			}
			part := part{at: at, mem: mem[from-lo : end-lo]}
			if most := mostBytes - f.bytes; len(part.mem) > most {
				part.mem, f.to.full = part.mem[:most], true
			}
			f.bytes += len(part.mem)
			f.to.parts = append(f.to.parts, part)
		}
		if i >= len(s.spans) || s.spans[i].lo >= hi {
			return
		}
		from = s.spans[i].hi
	}
}

// module is the module path of this project.
var module = strings.TrimSuffix(reflect.TypeFor[engine.Engine]().PkgPath(), "/internal/replica/engine")

// foreign reports whether a type belongs to the runtime of programs, or to a package of
// the standard library whose values change by themselves. For a value in an interface, its
// own type counts, not that of the interface.
func foreign(t reflect.Type) bool {
	path := t.PkgPath()
	if path == "" || path == "sync/atomic" || t.Kind() == reflect.Interface {
		return false
	}
	if rest, ok := strings.CutPrefix(path, module); ok {
		first, _, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
		return !slices.Contains([]string{"kernels", "examples", "testdata"}, first) && !strings.Contains(rest, "/testdata/")
	}
	first, _, _ := strings.Cut(path, "/")
	return slices.Contains([]string{"sync", "context", "os", "io", "bufio", "log", "net", "time", "testing", "runtime", "reflect", "internal"}, first)
}
