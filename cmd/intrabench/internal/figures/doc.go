// Package figures runs HPCCG or GTC in several configurations, alternated round by round,
// and summarises their costs relative to the native run. This is the evaluation of the
// paper on intra-parallelization [INTRA, V-C], with its efficiency E = T(native) /
// T(replicated) on the same cores for the same global problem.
package figures
