// Bt is the program BT of the NAS Parallel Benchmarks. It computes the flow of a gas in a
// cube. A time step solves a block-tridiagonal system with blocks of 5×5 numbers for each
// line of points along x, then along y and z.
//
// The right-hand side, the systems along each axis, and the sum of solution and change are
// sections, whose tasks are blocks of planes, or of lines along z.
//
//	intrarun -n 2 -r 2 ./examples/npb/bt -class W
package main
