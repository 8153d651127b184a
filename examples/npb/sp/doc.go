// Sp is the program SP of the NAS Parallel Benchmarks. It computes the flow of a gas in a
// cube, as BT does. A time step decomposes the flow into five waves. For each wave it
// solves a pentadiagonal system of plain numbers for each line of points along x, then
// along y and z.
//
// The right-hand side, the systems along each axis, and the sum of solution and change are
// sections, whose tasks are blocks of planes, or of lines along z.
//
//	intrarun -n 2 -r 2 ./examples/npb/sp -class W
package main
