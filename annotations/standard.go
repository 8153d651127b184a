package annotations

import (
	"go/types"
	"strings"
)

// The tables of this file describe functions of the standard library by name, since the
// analysis does not load their sources. A function that is not in the tables may read,
// write and return all of its arguments.

// harmless lists packages whose functions, except those in standardFuncs, do not write to
// their arguments and return new memory.
var harmless = set("math math/bits math/cmplx cmp strings strconv unicode unicode/utf8 unicode/utf16 errors fmt")

// standardFuncs maps the path and name of a function to its effects, for argument numbers such
// as 0. r0 reads the target of argument 0, w0 writes it, and m0 may write it. =0 returns
// argument 0, and ~0 returns a value that may contain it; functions without either return new
// memory, if anything. c1 calls argument 1. The receiver is argument 0.
var standardFuncs = functions(`
r0 w0: sort.Float64s sort.Ints sort.Strings slices.Sort
r0 w0 c1: sort.Slice sort.SliceStable slices.SortFunc slices.SortStableFunc
r0 w0: slices.Reverse
r0 w0 =0: slices.Delete slices.Compact
r0 w0 =0 c1: slices.DeleteFunc slices.CompactFunc
r0 w0 r2 ~0 ~2: slices.Insert
r0 w0 r3 ~0 ~3: slices.Replace
r0 m0 =0: slices.Grow
=0: slices.Clip
r0: slices.Max slices.Min slices.Contains slices.Index slices.IsSorted slices.BinarySearch
r0 r1: slices.Equal slices.Compare
r0 c1: slices.ContainsFunc slices.IndexFunc slices.MaxFunc slices.MinFunc slices.IsSortedFunc
r0 c2: slices.BinarySearchFunc
r0: sort.Float64sAreSorted sort.IntsAreSorted sort.SearchFloat64s sort.SearchInts
c1: sort.Search
r0: bytes.Equal bytes.Compare bytes.Index bytes.IndexByte bytes.Contains bytes.HasPrefix bytes.HasSuffix
w1: encoding/binary.littleEndian.PutUint16 encoding/binary.littleEndian.PutUint32 encoding/binary.littleEndian.PutUint64
w1: encoding/binary.bigEndian.PutUint16 encoding/binary.bigEndian.PutUint32 encoding/binary.bigEndian.PutUint64
r1: encoding/binary.littleEndian.Uint16 encoding/binary.littleEndian.Uint32 encoding/binary.littleEndian.Uint64
r1: encoding/binary.bigEndian.Uint16 encoding/binary.bigEndian.Uint32 encoding/binary.bigEndian.Uint64
w0: encoding/binary.PutUvarint encoding/binary.PutVarint
r0: sync/atomic.LoadInt32 sync/atomic.LoadInt64 sync/atomic.LoadUint32 sync/atomic.LoadUint64 sync/atomic.LoadPointer sync/atomic.LoadUintptr
r0: sync/atomic.Int32.Load sync/atomic.Int64.Load sync/atomic.Uint32.Load sync/atomic.Uint64.Load sync/atomic.Bool.Load
`)

func functions(table string) map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(table) {
		if does, names, ok := strings.Cut(line, ": "); ok {
			for name := range strings.FieldsSeq(names) {
				m[name] = does
			}
		}
	}
	return m
}

func isStandard(pkg *types.Package) bool {
	if pkg == nil {
		return true
	}
	first, _, _ := strings.Cut(pkg.Path(), "/")
	return !strings.Contains(first, ".") && (harmless[pkg.Path()] || knownStandard[pkg.Path()])
}

var knownStandard = set("sort slices maps bytes encoding/binary sync sync/atomic math/rand math/rand/v2 iter unsafe time runtime context")

// standardEffects returns the effects of a function of the standard library. It returns nil if
// they are unknown.
func standardEffects(f *types.Func) *Effects {
	if f.Pkg() == nil {
		return nil
	}
	path := f.Pkg().Path()
	does, ok := standardFuncs[path+"."+LocalName(f)]
	switch {
	case ok:
	case path == "slices" && f.Name() == "Clone":
		return cloneEffects(f)
	case path == "sync/atomic":
		does = "w0"
	case harmless[path] && f.Signature().Recv() == nil:
		does = ""
	default:
		return nil
	}
	e := &Effects{}
	exists := false
	for op := range strings.FieldsSeq(does) {
		n := int(op[1] - '0')
		switch op[0] {
		case 'r':
			e.Accesses = append(e.Accesses, Access{Param: n, Path: "*", Exposed: true})
		case 'w':
			e.Accesses = append(e.Accesses, Access{Param: n, Path: "*", Write: true})
		case 'm':
			e.Accesses = append(e.Accesses, Access{Param: n, Path: "*", Write: true, Maybe: true})
		case '=', '~':
			exists = true
			e.Results = append(e.Results, Flow{Param: n, Any: op[0] == '~'})
		case 'c':
			e.Calls = append(e.Calls, n)
		}
	}
	if !exists {
		e.Results = freshResults(f)
	}
	return e
}

func freshResults(f *types.Func) []Flow {
	var flows []Flow
	for i := range f.Signature().Results().Len() {
		flows = append(flows, Flow{Result: i, Param: freshFlow})
	}
	return flows
}

// cloneEffects returns the effects of a function that clones its argument. The elements of the
// clone are those of the argument.
func cloneEffects(f *types.Func) *Effects {
	return &Effects{
		Accesses: []Access{{Param: 0, Path: "*", Exposed: true}},
		Results:  []Flow{{Param: freshFlow}, {At: "*", Param: 0, Path: "*"}},
	}
}
