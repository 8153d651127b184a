// Package attack runs random jobs of real processes, in which whatever can fail
// on one host does, and judges what comes of them:
//
//   - a job that ends well has the bits of one without failures;
//   - a job that does not end well says why, and that is true by what its report
//     says of each process;
//   - nobody is declared dead without cause;
//   - nothing is left behind, and no job hangs.
//
// A seed makes one job. make attack runs many:
//
//	ATTACK=1000 make attack        # a thousand jobs, of random seeds
//	INTRA_SEED=17 make attack      # the job of that seed again
//
// The judge knows nothing of how the launcher decides: it reads what was done to
// the processes, and what the report says came of them.
package attack
