// Package npb holds kernels of the NAS Parallel Benchmarks 3.4. Each is a program of its
// own, with the classes S to C and the verification of the originals:
//
//	ep  random numbers: only the totals are sent
//	cg  conjugate gradients on a grid of ranks: messages between pairs of ranks
//	is  a sort of integers: all ranks exchange parts of different lengths
//	mg  multigrid: borders of boxes, on grids of all sizes
//	ft  Fourier transforms: all ranks exchange all of their data
//	bt  flow of a gas, block-tridiagonal systems: much work for each number that is sent
//	sp  the same flow by pentadiagonal systems: a fourth of the work
//
// Each program has the flags -class, -tasks and -json. This package has their tests as jobs
// of real processes. The scripts in folder peer compare their times with those of the
// originals.
package npb
