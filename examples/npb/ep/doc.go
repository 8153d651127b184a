// Ep is the kernel EP of the NAS Parallel Benchmarks, "embarrassingly parallel". It draws
// pairs of normally distributed random numbers, and computes their sums and how many of
// them lie in each of ten square annuli. Ranks send only the totals at the end.
//
// The pairs are divided into batches of 2¹⁶. Each batch begins at its own position in the
// sequence of random numbers. A rank processes its batches in rounds. A round is one
// section, and a task processes consecutive batches.
//
//	intrarun -n 2 -r 2 ./examples/npb/ep -class W
package main
