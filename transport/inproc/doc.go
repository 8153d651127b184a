// Package inproc links two processes that are goroutines of one program, for tests and for
// jobs in a single process. It copies every frame, as a real link does. Its capacity is
// bounded, so it divides frames into pieces, and a death can tear a frame, as between real
// processes.
package inproc
