// Package simd contains every path of the numeric kernels: pure Go for all machines, AVX2
// and AVX-512 for amd64. A Path is a table of functions. All paths return the same bits for
// the same arguments, so the choice affects only the speed. Package kernels, which programs
// import, documents the results and checks the arguments.
//
// The functions of a table do not check their arguments: slices must have matching lengths,
// and every column of a matrix must be inside x.
//
// kernels/asm generates the *_amd64.s files and their stubs.
package simd
