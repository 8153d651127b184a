// Amg solves Poisson's equation on a grid by conjugate gradients or by GMRES. The
// preconditioner is algebraic multigrid by smoothed aggregation, which constructs its
// coarser levels from the matrix alone.
//
// The matrix is that of a stencil of 5 points in the plane, or of 7 or 27 in space, on nx ×
// ny × nz points per rank; the right-hand side is all ones. Each level is computed from the
// finer one by products of sparse matrices. In a V-cycle each level is smoothed by
// Chebyshev's polynomial of degree two, on the way down and on the way up, and the last one
// is solved by Cholesky. Aggregates do not cross ranks.
//
// Sparse products, smoother and vector kernels are tasks, and so are the products that
// construct the levels. The number of entries in a row of such a product is not known in
// advance: one section counts them, and a second one computes them.
//
//	intrarun -r 2 ./examples/amg -problem 27pt -nx 64 -ny 64 -nz 64
//	intrarun -n 2 -r 2 -kill 1.0@update:2000 ./examples/amg -problem 7pt -solver gmres -json
package main
