// Package kernels contains the numeric kernels of memory-bound codes. Each kernel has one
// result, bit for bit, on every CPU, so that replicas on different machines stay equal. Any
// Go program can import the package.
//
// # Definition of the results
//
// The results are defined here, not by an instruction set. Every product and every sum is
// rounded to the element type; multiplication and addition are never fused. For vectors:
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
//   - Every NaN that a kernel computes has the same bits, independent of the
//     operands: 0xfff8000000000000, or 0xffc00000 for float32. Copies keep
//     their bits.
//
// So results depend neither on the CPU nor on the address of a slice. Infinities, signed
// zeros and denormals are those of IEEE 754. All this does not hold in a program that links
// C code which changes the rounding mode or flushes denormals.
//
// The results of Dot and Sum depend on where a vector is cut. The result of [DotBlocks]
// does not: it gives one partial result per [BlockLen] elements, counted from the start of
// the whole vector. Cut a vector with [BlocksAligned], let every task compute its part of
// the partial results, and combine all of them with [SumTree]. Then the sum is the same for
// any number of tasks.
//
// # Sparse matrices
//
// [CSR] is the usual form of compressed sparse rows. [Sliced] is the faster form. It
// divides the matrix into slices of 8 rows, and stores each slice in one of three ways. It
// stores a slice by diagonals if the 8 rows have the same shape (stencils, bands, blocks),
// by columns if they only have similar lengths, and otherwise as plain rows. A slice stored
// by diagonals needs no columns, because slices share patterns. So an entry takes 8 bytes
// of memory and a slice 12 more, where CSR takes 12 for an entry.
//
// [Builder] makes a Sliced matrix row by row, without a CSR matrix in between. [Choose]
// makes it from a CSR matrix. [CSR.MulRows] and [Sliced.MulRows] multiply any range of
// rows:
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
// Each kernel exists for AVX-512 and AVX2 on amd64, and in plain Go for every machine. The
// program chooses the best one for the CPU when it starts. The environment variable
// INTRA_KERNELS=avx512, avx2 or go selects another one; if that is not available, the
// program ends with exit code 2. The build tag purego excludes the assembly.
//
// The distance of prefetching depends on the vendor of the CPU. Prefetching makes Intel
// CPUs faster by up to a third, and AMD CPUs slower by as much. No result depends on it.
//
// # Calls
//
// The kernels do not allocate, and may run concurrently on memory that no other call
// writes. They panic if lengths do not match, like an index out of range. The destination
// may be one of the sources, element for element; the result of other overlaps is
// undefined.
package kernels

//go:generate go run ./asm -dir internal/simd
