// Package kernels contains the numeric kernels of memory-bound codes. Each has one result,
// bit for bit, on every CPU, so that replicas on different machines stay equal. Any Go
// program can import it.
//
// # What is computed
//
// The results are defined here, not by an instruction set. Every product and
// every sum is rounded to the element type; nothing is fused. For vectors:
//
//   - Waxpby, Axpy, Scale work element by element.
//   - Dot and Sum have L partial sums, L = 32 for float64 and 64 for float32,
//     each from +0. Element i, counted from the start of the slice, is added
//     to partial sum i mod L, in ascending order of i. Then the upper half of
//     the partial sums is added to the lower half, L/2 sums to L/2 sums, until
//     one is left. Norm2 is the square root of Dot(x, x).
//   - A row of a sparse product is summed in stored order, in one sum from +0,
//     whatever the format.
//   - MulRowsDot adds the Dot of each BlockLen rows of a product, in order.
//   - A NaN that a kernel computes is always the same one, whichever operands
//     it came from: 0xfff8000000000000, or 0xffc00000 for float32. Copies
//     keep their bits.
//
// So results depend neither on the CPU nor on the address of a slice, and
// infinities, signed zeros and denormals are those of IEEE 754. (A program that
// links C code which changes the rounding mode or flushes denormals is on its
// own.)
//
// Dot and Sum do depend on where a vector is cut. [DotBlocks]
// does not: it gives one partial result per [BlockLen] elements, counted from
// the start of the whole vector. Cut a vector with [BlocksAligned], let every
// task fill in its part of the partial results, and combine all of them with
// [SumTree]: the sum is the same for any number of tasks.
//
// # Sparse matrices
//
// [CSR] is compressed sparse rows as programs build it. [Sliced] is the faster
// form, in which each slice of 8 rows chooses for itself: by diagonals, where
// the 8 rows look alike (stencils, bands, blocks); by columns, where they are
// merely of like length; as plain rows, where they are not. By diagonals there are
// no columns to read: slices share patterns, so that an entry takes 8 bytes of
// memory and a slice 12 more, where CSR takes 12 for an entry. [Builder] makes it
// row by row, without a CSR matrix in between, [Choose] from a CSR matrix.
// [CSR.MulRows] and [Sliced.MulRows] multiply any range of rows:
//
//	b := kernels.NewBuilder[float64](cols, rows, entries)
//	for … {
//		err := b.Row(columns, values) // []int32, []float64
//	}
//	a := b.Matrix()
//	a.MulRows(lo, x, y[lo:hi]) // rows lo to hi of the product
//
// [GaussSeidel] sweeps over the diagonal blocks of a matrix, each independently, so that
// tasks can share them.
//
// # Paths
//
// The kernels exist in AVX-512 and AVX2 for amd64 and in plain Go for every machine. The
// program chooses the best one for the CPU when it starts. The environment variable
// INTRA_KERNELS=avx512, avx2 or go selects another one; if it is not available, the program
// ends with exit code 2. The build tag purego excludes the assembly.
//
// The distance of prefetching depends on the maker of the CPU: it speeds Intel CPUs up by
// up to a third, and slows AMD CPUs down by as much. No result depends on it.
//
// # Calls
//
// The kernels do not allocate, and may run concurrently on memory that no other call
// writes. They panic if lengths do not match, like an index out of range. The destination
// may be one of the sources, element for element; the result of other overlaps is
// undefined.
package kernels

//go:generate go run ./asm -dir internal/simd
