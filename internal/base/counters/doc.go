// Package counters counts events of the hardware and the kernel while the tasks of a
// process run: cycles, cache misses, page faults and so on, with perf_event_open. If an
// event cannot be counted in this way, the package reports the reason, and uses another
// source if there is one.
package counters
