// Hpccg solves a sparse linear system by the method of conjugate gradients:
// the HPCCG benchmark of the Mantevo suite, written for Intra. It is the first
// example of work sharing: its three kernels waxpby, ddot and sparsemv are
// tasks, and every call of one is a section that the replicas of a rank share.
//
// The matrix is that of a 27-point stencil on a box of nx × ny × nz points
// per rank, the boxes stacked along z; the right-hand side is such that the
// exact solution is all ones.
//
//	intrarun -n 1 -r 2 ./examples/hpccg -nx 64 -ny 64 -nz 64
//	intrarun -n 2 -r 2 -kill 0.1@task:500 ./examples/hpccg -json
package main
