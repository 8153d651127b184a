// Package figures runs HPCCG or GTC in several configurations, alternated round by
// round, and sums up what each of them costs beside the native run: the
// evaluation of the paper on intra-parallelization [INTRA, V-C], with its
// efficiency E = T(native) / T(replicated) on the same cores for the same
// global problem.
package figures
