// Package launcher reads the environment that mpirun, mpiexec and srun pass to the processes
// that they start: the rank of each process, and their number.
//
// These processes exchange one message each (a word) before there is a connection between
// them. The words go through the launcher if it speaks PMI-1, as MPICH's and srun --mpi=pmi2
// do. Otherwise they go through a folder that all hosts share. With -mpi the processes also
// lend their identities to the processes of the job, so that the launcher's MPI library
// accepts those.
package launcher
