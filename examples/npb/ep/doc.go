// Ep is the kernel EP of the NAS Parallel Benchmarks, "embarrassingly parallel":
// pairs of normally distributed random numbers, their sums, and how many of them
// lie in each of ten square annuli. Ranks send nothing but the totals at the end.
//
// The pairs come in batches of 2¹⁶, each of which begins at its own place in the
// sequence of random numbers. A rank does its batches in rounds, each of which is
// one section; a task is a run of batches.
//
//	intrarun -n 2 -r 2 ./examples/npb/ep -class W
package main
