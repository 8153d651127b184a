// Package nas is what the NAS Parallel Benchmarks of this folder have in common:
// their random numbers, classes and flags, the steps of a run, the test of a result,
// and the table that they print.
package nas
