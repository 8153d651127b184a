// Mg is the kernel MG of the NAS Parallel Benchmarks: multigrid for Poisson's
// equation on a periodic cube, with ten positive and ten negative charges.
//
// The cube is cut into boxes, one per rank, in z first, then in y and x. Boxes
// exchange the points at their borders after each operator. Grids on which a box
// would be thinner than two points are gathered, and each rank has all of them.
//
// Each operator is a section, whose tasks are blocks of planes: the residual, the
// smoother, restriction, interpolation, and the norm.
//
//	intrarun -n 2 -r 2 ./examples/npb/mg -class W
package main
