// Package sdrtest runs whole jobs of replicated processes in one goroutine at a time. Every
// process is a coroutine, and links are queues. One seed decides which process runs next,
// how long frames take, and which processes die where. The same seed gives the same run.
// The package is for tests of this module.
package sdrtest
