// Package inproc links two processes that are goroutines of one program, for tests and for
// jobs in a single process. It copies every frame, as a real link does. Its capacity is
// bounded, so that frames are divided into pieces and torn by a death as they are between
// real processes.
package inproc
