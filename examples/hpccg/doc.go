// Hpccg solves a sparse linear system by the method of conjugate gradients: the HPCCG
// benchmark of the Mantevo suite, written for Intra. It is the first example of work
// sharing. Its three kernels waxpby, ddot and sparsemv are tasks. Every call of one is a
// section that the replicas of a rank share.
//
// The matrix is that of a 27-point stencil on a box of nx × ny × nz points per rank, with
// the boxes stacked along z. The right-hand side is chosen so that the exact solution is
// all ones.
//
// With -fused the inner products are computed in the tasks that write their vectors: r·r
// together with r, and p·Ap together with the product. In each pass this saves two of six
// sections, and reading three vectors. The product's sum then has another order, so the
// residual norms have other last digits. Those of passes 1, 10, 50 and 149, with -nx 32 -ny
// 32 -nz 32 -tasks 4, by number of ranks:
//
//	1 813.8550239446827 40.213393100874924 1.6996764851124757e-09 2.305354208273938e-37
//	2 1052.5815882866277 57.40860304578006 4.583677129196838e-06 1.5060881904655673e-28
//
//	intrarun -n 1 -r 2 ./examples/hpccg -nx 64 -ny 64 -nz 64
//	intrarun -n 2 -r 2 -kill 0.1@task:500 ./examples/hpccg -json
package main
