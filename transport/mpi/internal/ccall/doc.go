// Package ccall calls functions of a C library that was loaded at run time.
//
// Long is for any function. While it runs, the scheduler gives the processor to other
// goroutines. That costs several times as much as the library needs for a message of a few
// bytes.
//
// Short is for a function that returns within microseconds. A call by Short takes 135 ns
// and one by Long 382 ns (BenchmarkCall on amd64, medians of five rounds in turn on a busy
// machine), and a message takes several calls.
//
// Short runs on the thread's system stack, which has room for C, as the runtime's own calls
// of C do (runtime.asmcgocall, which the linker lets packages name). The scheduler does not
// notice the call. So until the function has returned
//
//   - the goroutine is not preempted, and a garbage collection cannot begin: a
//     function that may wait for another process, or copy any amount of data, must
//     be called with Long;
//   - Go handles signals as during system calls of the runtime: a profile counts
//     the time as external code, a preemption request is dropped and repeated, and
//     a fault ends the process;
//   - the function must not call back into Go.
//
// ShortUntil is for a function that checks for something. It repeats the call for a while
// until the check succeeds: another call takes less time than returning to Go in between.
//
// The caller keeps the arguments' memory alive and in place, as with Long. On processors
// other than amd64 Short is Long.
package ccall
