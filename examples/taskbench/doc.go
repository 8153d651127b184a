// Taskbench runs the patterns of the benchmark Task Bench [Slaughter et al., SC20] as sections
// and messages. It computes a grid of width points and a number of steps. Each point of a step
// is a task that needs the values of some points of the step before, which the pattern sets:
//
//	trivial         none
//	stencil_1d      the point and its two neighbours
//	fft             the point and those at a distance that doubles from step to step
//	tree            one point; the number of points doubles until it is the width
//	random_nearest  the point, and each of its neighbours with some probability
//
// The computation of a task stays in registers and the nearest cache. Its length is set by
// -iters, so that the overhead of a task can be measured. Each rank owns a block of points. It
// first receives the values that its points need from other ranks, and then computes its points of
// the step in a section. The values do not depend on the number of ranks.
//
//	intrarun -r 2 ./examples/taskbench -pattern fft -iters 64
//	intrarun -n 4 -r 2 -kill 1.0@update:500 ./examples/taskbench -pattern tree -json
package main
