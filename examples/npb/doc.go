// Package npb holds kernels of the NAS Parallel Benchmarks 3.4, each a program of
// its own, with the classes S to C and the verification of the originals:
//
//	ep  random numbers: nothing is sent but totals
//	cg  conjugate gradients on a grid of ranks: messages between two ranks each
//	is  a sort of integers: all ranks exchange parts of different lengths
//	mg  multigrid: borders of boxes, on grids of all sizes
//	ft  Fourier transforms: all ranks exchange all they have
//	bt  flow of a gas, block-tridiagonal systems: much work for each number that is sent
//	sp  the same flow by pentadiagonal systems: a fourth of the work
//
// Each has the flags -class, -tasks and -json. Here is what tests them as jobs of
// real processes; folder peer compares their times with those of the originals.
package npb
