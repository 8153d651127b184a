// Cg is the kernel CG of the NAS Parallel Benchmarks: the smallest eigenvalue of a
// sparse matrix by inverse iteration. Each step solves a system by 25 iterations of
// conjugate gradients.
//
// The ranks form a grid of rows and columns, as many columns as rows or twice as
// many, and each has a block of the matrix. Vectors are cut like the columns. So a
// product is summed up along a row of the grid, and the parts of the result then
// change places across the diagonal: many messages between two ranks each, and no
// collective call.
//
// The product is a section, whose tasks are blocks of rows. Vectors are too short to
// be worth sharing.
//
//	intrarun -n 2 -r 2 ./examples/npb/cg -class W
package main
