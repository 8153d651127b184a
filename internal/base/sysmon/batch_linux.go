package sysmon

import (
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Yield has the monitor wait for its turn when it wakes, as batch work does, unless somebody
// has chosen how this process is scheduled. Otherwise it interrupts every 20 µs who computes
// on its core, for a millisecond at least, each time that it finds a thread in a long system
// call. Where that is not allowed nothing changes: it costs time alone.
func Yield() {
	tid, ok := monitor()
	if !ok {
		return
	}
	attr, err := unix.SchedGetAttr(tid, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL {
		return
	}
	attr.Policy = unix.SCHED_BATCH
	_ = unix.SchedSetAttr(tid, attr, 0)
}

// monitor returns the thread that the runtime starts first. The kernel lists threads in the
// order in which they were made.
func monitor() (tid int, ok bool) {
	d, err := os.Open("/proc/self/task")
	if err != nil {
		return 0, false
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return 0, false
	}
	first := slices.Index(names, strconv.Itoa(os.Getpid()))
	if first < 0 || first+1 >= len(names) {
		return 0, false
	}
	tid, err = strconv.Atoi(names[first+1])
	return tid, err == nil
}
