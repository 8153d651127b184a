// Cg is the kernel CG of the NAS Parallel Benchmarks. It computes the smallest eigenvalue
// of a sparse matrix by inverse iteration. Each step solves a system by 25 iterations of
// conjugate gradients.
//
// The ranks form a grid with as many columns as rows, or twice as many. Each rank has a
// block of the matrix. Vectors are divided like the columns. So a product is summed along a
// row of the grid, and the parts of the result are then exchanged across the diagonal. This
// needs many messages between pairs of ranks, and no collective call.
//
// The product is a section, whose tasks are blocks of rows. Vectors are too short for
// sharing to be worthwhile.
//
//	intrarun -n 2 -r 2 ./examples/npb/cg -class W
package main
