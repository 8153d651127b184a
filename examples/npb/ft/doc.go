// Ft is the kernel FT of the NAS Parallel Benchmarks: it solves the heat equation on a
// periodic box by Fourier transforms. The field is transformed once. Each iteration damps
// its waves by another time step, transforms them back, and adds some of the points.
//
// A rank has planes of equal z, for transforms in x and y, and columns along z for some
// values of y. To change between the two, all ranks exchange all of their data.
//
// Tasks are blocks of planes, and blocks of columns, whose points are not contiguous in
// memory.
//
//	intrarun -n 2 -r 2 ./examples/npb/ft -class W
package main
