// Intrarun runs a program as a job of replicated ranks. It starts the processes, watches
// them, kills those that misbehave, forwards their output once per rank, and reports the
// outcome.
//
//	intrarun [flags] PROGRAM [args]
//
// With -hosts or -hostfile, in a Slurm allocation, or as an indexed job of a cluster
// manager, the processes run on several hosts, under an agent on each: intrarun itself,
// started through -rsh. If mpirun, mpiexec or srun has started intrarun several times,
// these processes are the agents.
//
// If PROGRAM is an executable file, it is run; otherwise it is built as a Go
// package with the build tag intra. Exit codes: 0 every rank finished, 1 a rank ended
// by itself, 2 nothing was started, 3 a rank was lost, 4 replicas differed,
// 130 and 143 after SIGINT and SIGTERM.
package main
