// Package transport defines a link, the ordered, reliable path of frames between
// two physical processes, and the parts that all kinds of links share: the frame
// header, and the poller that drives a process's links.
//
// The packages inproc, shm, tcp and, over a native MPI library, mpi implement links;
// sdr is the replicated messaging core on top of them. Programs do not import any of
// these: they use packages intra and comm.
package transport
