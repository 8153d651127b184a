// Hpcg is the benchmark HPCG 3.1, written for Intra: conjugate gradients with a
// multigrid preconditioner, whose smoother is symmetric Gauss-Seidel, on a 27-point
// stencil on a box of nx × ny × nz points per rank; the ranks form a grid that is
// as cubic as possible.
//
// It runs as the original does: 50 iterations in the original's order find the
// residual that has to be reached; two tests look for faults, the spectral test
// and that of symmetry; then come timed sets of as many iterations as reach that
// residual with the chosen smoother. Gauss-Seidel goes from point to point, so
// tasks need one of its orders that allow for them:
//
//	natural  point by point, as the original: one task
//	slab     point by point in slabs of planes, each with the values that its
//	         neighbours had before: a task per slab, one section
//	colour   points of equal parity in x, y and z at once: tasks in each of
//	         eight colours, a section for each colour and direction
//
// Smoother, sparse product, restriction, prolongation and the vector kernels are
// tasks. Folder peer compares its time with that of the reference code.
//
//	intrarun -n 1 -r 2 ./examples/hpcg -nx 64 -ny 64 -nz 64
//	intrarun -n 2 -r 2 -kill 0.1@update:5000 ./examples/hpcg -smoother slab -json
package main
