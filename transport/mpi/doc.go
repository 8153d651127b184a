// Package mpi is the link over a native MPI library, which is found and loaded at
// run time, in processes that mpirun, mpiexec or srun has started, or in others
// in their place (internal/agent/launcher). It exists only in programs built with
// the tag mpi, since loading a library makes a program a dynamic one. It needs no
// C compiler and no MPI header.
//
// A small frame is one message. A large frame is a message that announces the
// pieces of its payload, the pieces, which go from the sender's memory to the
// receiver's, and a message that completes it: so a frame that its sender gave up
// is never taken for a whole one.
//
// The library is never called for a blocking operation: waiting for a dead
// process would last forever. Requests to dead processes are abandoned, and their
// memory is kept.
package mpi
