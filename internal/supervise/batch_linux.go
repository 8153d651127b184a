package supervise

import "golang.org/x/sys/unix"

// asBatch calls f while this thread, to which its goroutine must be locked, is scheduled
// as batch work, unless somebody has chosen another way for it: what f starts inherits
// that. A thread of such a process that wakes waits its turn instead of interrupting the
// one that computes on the same core. The Go runtime's sysmon would do so every 20 µs,
// for a millisecond at least, each time that it finds a thread in a long system call.
// Where the kernel does not allow it, f is called all the same: it costs time alone.
func asBatch(f func() error) error {
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL {
		return f()
	}
	batch := *attr
	batch.Policy = unix.SCHED_BATCH
	if unix.SchedSetAttr(0, &batch, 0) == nil {
		defer func() { _ = unix.SchedSetAttr(0, attr, 0) }() // allowed, as it was before
	}
	return f()
}
