// Mg is the kernel MG of the NAS Parallel Benchmarks. It solves Poisson's equation by
// multigrid on a periodic cube, with ten positive and ten negative charges.
//
// The cube is divided into boxes, one per rank, first in z, then in y and x. After each
// operator the boxes exchange the points at their borders. Grids on which a box would be
// thinner than two points are gathered, and each rank has them as a whole.
//
// Each operator is a section, whose tasks are blocks of planes: the residual, the smoother,
// restriction, interpolation, and the norm.
//
//	intrarun -n 2 -r 2 ./examples/npb/mg -class W
package main
