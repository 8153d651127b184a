// Package sdrtest runs whole jobs of replicated processes in one goroutine at
// a time: every process is a coroutine, links are queues, and one seed decides
// who runs next, how long frames take, and who dies where. The same seed gives
// the same run. It is for tests of this module.
package sdrtest
