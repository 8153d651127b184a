// Package files runs random jobs of real processes that write files. Processes die at any
// step, even in the middle of a write:
//
//   - a job that ends well leaves the files of a run without failures, and no other files;
//   - a job that has lost a rank leaves created files whole, and a beginning of others;
//   - a job that is continued from its checkpoint files ends with the same files.
//
// A seed makes one job. make files runs many:
//
//	FILES=1000 make files          # a thousand jobs, with the seeds 0 to 999
//	INTRA_SEED=17 make files       # the job of that seed again
package files
