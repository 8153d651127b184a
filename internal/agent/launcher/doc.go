// Package launcher is what mpirun, mpiexec and srun tell the processes that they
// start: which of how many each is. Those processes tell each other a word before
// there is any connection between them: through the launcher where it speaks PMI-1,
// as MPICH's and srun --mpi=pmi2 do, and through a folder that all hosts share
// otherwise. With -mpi they also lend what makes them the launcher's, to its MPI
// library, to the processes of the job.
package launcher
