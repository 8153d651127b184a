// Package nas is the common part of the NAS Parallel Benchmarks in this folder: random
// numbers, classes and flags, the steps of a run, the test of a result, and the printed
// table.
package nas
