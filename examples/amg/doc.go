// Amg solves Poisson's equation on a grid by conjugate gradients or by GMRES, with
// algebraic multigrid as the preconditioner: smoothed aggregation, which finds its
// coarser levels in the matrix alone.
//
// The matrix is that of a stencil of 5 points in the plane, or of 7 or 27 in space,
// on nx × ny × nz points per rank; the right-hand side is all ones. A level is made
// of the one above it by products of sparse matrices; in a V-cycle each level is
// smoothed by Chebyshev's polynomial of degree two, there and back, and the last one
// is solved by Cholesky. Aggregates do not cross ranks.
//
// Sparse products, smoother and vector kernels are tasks, and so are the products
// that make the levels. How many entries a row of such a product has is not known
// before: one section counts them, a second one fills them in.
//
//	intrarun -r 2 ./examples/amg -problem 27pt -nx 64 -ny 64 -nz 64
//	intrarun -n 2 -r 2 -kill 1.0@update:2000 ./examples/amg -problem 7pt -solver gmres -json
package main
