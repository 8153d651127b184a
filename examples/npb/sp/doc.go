// Sp is the program SP of the NAS Parallel Benchmarks: the flow of a gas in a cube, as
// in BT, in time steps that take it apart into five waves and solve a pentadiagonal
// system of plain numbers for each wave and each line of points along x, then along y
// and z.
//
// The right-hand side, the systems along each axis, and the sum of solution and change
// are sections, whose tasks are blocks of planes, or of lines along z.
//
//	intrarun -n 2 -r 2 ./examples/npb/sp -class W
package main
