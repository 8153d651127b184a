// Package counters counts events of the hardware and the kernel while the tasks
// of a process run: cycles, cache misses, page faults and so on, with
// perf_event_open. An event that cannot be counted has the reason, and another
// source if there is one.
package counters
