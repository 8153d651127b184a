// Package sdrtest runs whole jobs of replicated processes, with only one goroutine running
// at a time. Every process is a coroutine, and links are queues. A seed decides which
// process runs next, how long frames take, and which processes die at which points. The
// same seed gives the same run. The package is for tests of this module.
package sdrtest
