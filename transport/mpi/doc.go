// Package mpi is the link over a native MPI library, found and loaded at run
// time, in processes that mpirun, mpiexec or srun has started, or in others in
// their place (internal/agent/launcher). It is there in programs built with the tag mpi
// only, since loading a library makes a program a dynamic one; no C compiler and
// no MPI header is needed.
//
// A small frame is one message. A large one is a message that announces the
// pieces of its payload, the pieces, which go from the sender's memory to the
// receiver's, and a message that completes it: a frame that its sender gave up
// is never taken for a whole one.
//
// The library never blocks: a call that waits for a dead process would wait for
// ever. Requests to the dead are abandoned, and their memory is kept.
package mpi
