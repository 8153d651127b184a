// Package transport is the contract of a link, the ordered, reliable path of
// frames between two physical processes, and the parts that every kind of
// link shares: the frame header and the poller that drives a process's links.
//
// The packages inproc, shm, tcp and, over a native MPI library, mpi implement
// the contract; sdr is the replicated messaging core on top of it. Programs do
// not import any of them: they use packages runtime and comm.
package transport
