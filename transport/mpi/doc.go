// Package mpi is the link over a native MPI library, which it finds and loads at run time.
// The processes are those that mpirun, mpiexec or srun has started, or others that run in
// their place (internal/agent/launcher). The package exists only in programs built with the
// tag mpi, since a program that loads a library is dynamically linked. It needs no C
// compiler and no MPI header.
//
// A small frame is one message. A large frame is a message that announces the pieces of its
// payload, then the pieces, then a message that completes the frame. The pieces go from the
// sender's memory to the receiver's. A frame that its sender abandons is never completed,
// so the receiver never takes it for a whole one.
//
// The package never calls a blocking operation of the library: waiting for a dead process
// would last forever. Requests to dead processes are abandoned, and their memory is kept. A death
// may also block the living: see probe.
package mpi
