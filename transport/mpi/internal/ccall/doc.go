// Package ccall calls functions of a C library that was loaded at run time.
//
// Long is for any function: the scheduler gives the processor to other goroutines
// meanwhile. That costs several times as much as what a message of a few bytes takes the
// library.
//
// A call by Short takes 135 ns where Long takes 382 (BenchmarkCall on amd64, medians of five
// rounds in turn on a busy machine), and a message takes several calls.
//
// Short is for a function that returns within microseconds. It runs on the thread's
// system stack, a pthread's with room for C, as the runtime's own calls of C do
// (runtime.asmcgocall, which the linker lets packages name), and the scheduler
// is told nothing. So until the function has returned
//
//   - the goroutine is not preempted, and a garbage collection that wants to begin waits:
//     a function that may wait for another process, or copy as much as it is given, is
//     called with Long;
//   - signals are handled by Go as they are during system calls of the runtime: a profile
//     counts the time as that of external code, a request to preempt is dropped and comes
//     again, and a fault ends the process;
//   - the function must not call back into Go.
//
// ShortUntil repeats the call for a while, where a function that looks for something has
// not found it: to look again takes less time than to come back to Go in between.
//
// What it gets as arguments does not move and is kept by the caller, as with Long. On
// processors other than amd64 Short is Long.
package ccall
