// Ft is the kernel FT of the NAS Parallel Benchmarks: the heat equation on a
// periodic box by Fourier transforms. The field is transformed once; each iteration
// damps its waves for a time step more, transforms them back, and adds up some of
// the points.
//
// A rank has planes of equal z, for transforms in x and y, and columns along z, cut
// by y. Between them all ranks exchange all they have.
//
// Tasks are blocks of planes, and blocks of columns, whose points are far apart.
//
//	intrarun -n 2 -r 2 ./examples/npb/ft -class W
package main
