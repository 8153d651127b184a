// Package attack runs random jobs of real processes, in which everything fails that can
// fail on one host. It judges the outcome:
//
//   - a job that ends well has the bits of one without failures;
//   - a job that does not end well gives a reason, which agrees with the fate of
//     each process in its report;
//   - no process is declared dead without cause;
//   - nothing is left behind, and no job hangs.
//
// A seed makes one job. make attack runs many:
//
//	ATTACK=1000 make attack        # a thousand jobs, of random seeds
//	INTRA_SEED=17 make attack      # the job of that seed again
//
// The judge does not use the rules by which the launcher decides. It knows the faults that
// were injected, and reads the report about each process.
package attack
