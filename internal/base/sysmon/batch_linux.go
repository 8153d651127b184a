package sysmon

import (
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Yield makes the monitor of the Go runtime wait for its turn when it wakes, as batch work
// does. It does nothing if the user has chosen how this process is scheduled. Without
// Yield the monitor interrupts computation: whenever it finds a thread in a long system
// call, it wakes every 20 µs, for at least a millisecond, on the core of the thread that
// computes. If the system does not permit the change, the only effect is this loss of
// time.
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

// monitor returns the thread of the monitor, which is the first one that the runtime
// starts. The kernel lists threads in the order of their creation.
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
