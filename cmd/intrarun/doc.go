// Intrarun runs a program as a job of replicated ranks. It starts the processes, watches them,
// kills processes that misbehave, forwards the output of each rank once, and reports the
// outcome.
//
//	intrarun [flags] PROGRAM [args]
//
// With -hosts or -hostfile, in a Slurm allocation, or as an indexed job of a cluster manager,
// the processes run on several hosts. An agent on each host starts them: intrarun itself,
// started through -rsh. If mpirun, mpiexec or srun has started intrarun several times, these
// processes are the agents.
//
// If PROGRAM is an executable file, it is run. Otherwise it is built as a Go package with the
// build tag intra. Exit codes: 0 every rank finished, 1 a rank ended by itself, 2 nothing was
// started, 3 a rank was lost, 4 replicas diverged, 130 and 143 after SIGINT and SIGTERM.
package main
