// Lu factors a dense matrix of n × n elements with partial pivoting, and solves a system of
// equations with the factors. It has one rank, and needs no messages.
//
// Each column takes two sections. The tasks of the first search blocks of rows for the
// largest element of the column, which becomes the pivot. The tasks of the second eliminate
// the column from the rows below. As columns are eliminated, sections get shorter. So the
// program shows what short sections cost. Replicas gain by sharing only if the matrix is much
// larger than the caches.
//
//	intrarun -r 2 ./examples/lu -n 2000
//	intrarun -r 2 -replace -kill 0.1@section:300 ./examples/lu
package main
