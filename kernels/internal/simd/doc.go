// Package simd holds every path of the numeric kernels: pure Go for all
// machines, AVX2 and AVX-512 for amd64. A Path is a table of functions; all
// paths return the same bits for the same arguments, so which one runs is a
// matter of speed only. Package kernels documents the results, checks the
// arguments and is what programs import.
//
// The functions of a table trust their callers: slices have matching lengths
// and every column of a matrix lies inside x. The assembly does not check.
//
// The *_amd64.s files and their stubs are written by kernels/asm.
package simd
