// Package notices runs random jobs on three and four hosts, which are network namespaces. Hosts
// receive a notice (SIGTERM) and are taken away some time later (SIGKILL of all that runs
// there). Other hosts join. Processes and hosts are also killed without a notice. The judge
// decides whether the outcome is right:
//
//   - the job ends well, with the bits of a job without failures, if every host had left
//     before it was taken away;
//   - otherwise it ends well, or with the code and the reason that the documents promise: a
//     rank is lost only if all its replicas died and no backup was left, the job is
//     interrupted only if its processes had nowhere to go, and it ends without a head only
//     if most of the hosts that keep the decisions are gone;
//   - an interrupted job continues from its files to the same bits;
//   - no process is declared dead without cause, and no safe point is passed again because
//     a process leaves;
//   - nothing is left behind, and no job hangs.
//
// A seed makes one job. make notices runs many:
//
//	make notices NOTICES=1000 # a thousand jobs, of the seeds from 1
//	INTRA_SEED=17 make notices # the job of that seed again
//
// The judge does not use the rules by which the head decides. It knows what was done to the
// hosts, and when.
package notices
