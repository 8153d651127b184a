// Hpcg is the benchmark HPCG 3.1, written for Intra: conjugate gradients with a multigrid
// preconditioner, whose smoother is symmetric Gauss-Seidel. The matrix is that of a
// 27-point stencil on a box of nx × ny × nz points per rank. The ranks form a grid that is
// as cubic as possible.
//
// The program has the stages of the original. First, 50 iterations in the order of the
// original determine the residual that has to be reached. Then the spectral test and the
// symmetry test look for faults. The timed sets follow. Each has as many iterations as are
// needed to reach that residual with the chosen smoother. Gauss-Seidel goes from point to
// point, so tasks need an order of the points that allows parallel work:
//
//	natural  point by point, as the original: one task
//	slab     point by point in slabs of planes, each with the previous values
//	         of its neighbours: a task per slab, one section
//	colour   points of equal parity in x, y and z at once: tasks in each of
//	         eight colours, a section for each colour and direction
//
// Smoother, sparse product, restriction, prolongation and the vector kernels are tasks. The
// scripts in folder peer compare the program's time with that of the reference code.
//
//	intrarun -n 1 -r 2 ./examples/hpcg -nx 64 -ny 64 -nz 64
//	intrarun -n 2 -r 2 -kill 0.1@update:5000 ./examples/hpcg -smoother slab -json
package main
