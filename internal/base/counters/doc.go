// Package counters counts what the hardware and the kernel do while the tasks of a
// process run: cycles, cache misses, page faults and the like, by perf_event_open.
// What cannot be counted says why, and has another source where there is one.
package counters
