// Package launcher reads what mpirun, mpiexec and srun pass to the processes that
// they start: the rank of each, and their number. These processes exchange one
// word each before there is a connection between them: through the launcher if it
// speaks PMI-1, as MPICH's and srun --mpi=pmi2 do, otherwise through a folder
// that all hosts share. With -mpi they also lend their identities to the
// processes of the job, so that the launcher's MPI library accepts those.
package launcher
