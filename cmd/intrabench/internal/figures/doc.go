// Package figures runs programs in several configurations, alternated round by round, and
// summarises their costs relative to the native run. This is the evaluation of the paper on
// intra-parallelization [INTRA, V-C]. Its efficiency is E = T(native) / T(replicated), on the
// same cores for the same global problem.
package figures
