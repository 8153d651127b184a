// Package inproc links two processes that are goroutines of one program, for
// tests and for jobs that run in a single process. It copies every frame, as
// a real link does, and has a bounded capacity, so that frames are cut into
// pieces and torn by a death as they are between real processes.
package inproc
