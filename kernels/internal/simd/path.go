package simd

import (
	"fmt"
	"os"
	"strings"

	"github.com/klauspost/cpuid/v2"
)

// Float are the element types of the kernels.
type Float interface{ float32 | float64 }

// Lanes returns the number of partial sums of a reduction over T. They take 256 bytes: 32
// for float64 and 64 for float32.
func Lanes[T Float]() int {
	if is64[T]() {
		return 32
	}
	return 64
}

// Ops are the kernels of one path for one element type. The comments give the result for
// element i. The number of elements is the length of the last slice.
type Ops[T Float] struct {
	Waxpby     func(alpha T, x []T, beta T, y, w []T) // w = alpha*x + beta*y
	Xpby       func(x []T, beta T, y, w []T)          // w = x + beta*y
	WaxpbyNT   func(alpha T, x []T, beta T, y, w []T) // Waxpby, non-temporal stores
	XpbyNT     func(x []T, beta T, y, w []T)          // Xpby, non-temporal stores
	Scale      func(alpha T, x, w []T)                // w = alpha*x
	CopyNT     func(x, w []T)                         // w = x, non-temporal stores
	CopyNTPart func(x, w []T)                         // CopyNT, without the fence

	Dot       func(x, y []T) T                         // sum of x*y
	Sum       func(x []T) T                            // sum of x
	WaxpbyDot func(alpha T, x []T, beta T, y, w []T) T // Waxpby, returns Dot(w, w)
	XpbyDot   func(x []T, beta T, y, w []T) T          // Xpby, returns Dot(w, w)

	// CSR32 and CSR64 set y[i] to the product of x and the row with the entries ptr[i] to
	// ptr[i+1]-1 of col and val.
	CSR32 func(ptr []int64, col []int32, val, x, y []T)
	CSR64 func(ptr []int64, col []int64, val, x, y []T)
	// CSRAdd32 is like CSR32, but the sums start from y[i].
	CSRAdd32 func(ptr []int64, col []int32, val, x, y []T)
	// Diag multiplies slices of 8 rows, the first of which begins at row. Slice s has the
	// diagonals d in ptr[p]:ptr[p+1], where p = pat[s]. Each adds the products of the lanes
	// in mask[d] of its 8 values with x[row + 8s + off[d] + lane]. val starts at the first
	// slice. If pat[s] is negative, p is ^pat[s], and all masks are 0xff.
	Diag func(pat, ptr, off []int32, mask []uint8, val, x []T, row int, y []T)
	// Sell multiplies slices of 8 rows with width[s] entries each, stored
	// entry by entry, 8 rows at a time. col and val start at the first slice.
	Sell func(width, col []int32, val, x, y []T)
	// Lower solves slices of 8 rows in ascending order, in place. The first slice is at
	// x[row]; the others follow. First x becomes x/d minus the products of the diagonals,
	// which are given as for Diag and are 8 or more away from the row. Then, in the rows in
	// chained[s], x becomes x minus chain times the x of the previous row.
	Lower func(pat, ptr, off []int32, mask, chained []uint8, val, chain, d, x []T, row int)
	// Upper is like Lower from the last slice and row to the first, without the division.
	// chain refers to the next row. val starts with the last slice, in the order of use,
	// because memory is read much faster forwards than backwards.
	Upper func(pat, ptr, off []int32, mask, chained []uint8, val, chain, x []T, row int)
}

// Path is one implementation of all kernels.
type Path struct {
	Name string
	F64  Ops[float64]
	F32  Ops[float32]
}

// Of returns the table of p for T.
func Of[T Float](p *Path) *Ops[T] {
	if ops, ok := any(&p.F64).(*Ops[T]); ok {
		return ops
	}
	return any(&p.F32).(*Ops[T])
}

// Paths returns the paths available on this CPU, fastest first.
func Paths() []*Path { return append(native(), &goPath) }

// Active returns the path in use.
func Active() *Path { return active }

// Env is the environment variable that selects a path.
const Env = "INTRA_KERNELS"

// active never changes: a change during a run could only hide a difference between paths.
var active = mustSelect(os.Getenv(Env))

// mustSelect returns the path of that name. If it is not available, mustSelect ends the
// program: a run that is meant to test one path must not silently test another.
func mustSelect(name string) *Path {
	p, err := selectPath(name, Paths())
	if err != nil {
		fmt.Fprintln(os.Stderr, "kernels:", err)
		os.Exit(2)
	}
	return p
}

// StreamBytes is the minimum size at which a vector takes more than half of the last-level
// cache. Such a vector does not stay in the cache together with its operands.
var StreamBytes = streamBytes(cpuid.CPU.Cache.L3)

// streamBytes returns StreamBytes for a cache of the given size, which is -1 if the CPU
// does not report it.
func streamBytes(cache int) int64 {
	if cache <= 0 {
		cache = 32 << 20
	}
	return int64(cache) / 2
}

func selectPath(name string, usable []*Path) (*Path, error) {
	if name == "" {
		return usable[0], nil
	}
	var names []string
	for _, p := range usable {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return nil, fmt.Errorf("%s=%s: no such path here; this program on this CPU has %s",
		Env, name, strings.Join(names, ", "))
}
