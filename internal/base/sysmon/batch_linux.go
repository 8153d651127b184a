package sysmon

import (
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Yield makes the monitor wait for its turn when it wakes, as batch work does,
// unless the user has chosen how this process is scheduled. Otherwise, each time
// that the monitor finds a thread in a long system call, it interrupts the thread
// that computes on its core every 20 µs, for a millisecond at least. If the
// change is not permitted, that only costs time.
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

// monitor returns the thread that the runtime starts first. The kernel lists
// threads in the order of their creation.
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
