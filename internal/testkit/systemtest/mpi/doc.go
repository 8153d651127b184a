// Package mpi tests jobs whose messages go over a native MPI library, under the
// launchers of Open MPI and MPICH. See package systemtest for how to run it, and
//
//	make mpi
//
// kills processes at random.
package mpi
