package affinity

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// machine returns all cores of the machine, even those that this process may not
// use.
var machine = sync.OnceValue(func() []Core {
	const dir = "/sys/devices/system/cpu"
	exists := func(cpu int) bool {
		_, err := os.Stat(filepath.Join(dir, "cpu"+strconv.Itoa(cpu)))
		return err == nil
	}
	return group(dir, exists, len(unix.CPUSet{})*64)
})

// Processor returns the processor on which this goroutine runs now, -1 if unknown.
func Processor() int {
	var cpu uint32
	if _, _, e := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); e != 0 {
		return -1
	}
	return int(cpu)
}

// move moves the calling thread to a processor, and then restores the set of allowed
// processors. It returns false if the thread may not run there.
func move(processor int) bool {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, there unix.CPUSet
	if unix.SchedGetaffinity(0, &before) != nil || !before.IsSet(processor) {
		return false
	}
	there.Set(processor)
	if unix.SchedSetaffinity(0, &there) != nil {
		return false
	}
	_ = unix.SchedSetaffinity(0, &before) // the thread was allowed on these before
	return true
}

// Elsewhere calls f on another core than that of the processor, if the system allows it.
// This works even if the process is bound to its own core.
func Elsewhere(processor int, f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before unix.CPUSet
	if processor < 0 || unix.SchedGetaffinity(0, &before) != nil {
		f()
		return
	}
	var there unix.CPUSet
	for _, core := range machine() {
		if !slices.Contains(core, processor) {
			for _, cpu := range core {
				there.Set(cpu)
			}
		}
	}
	if there.Count() == 0 || unix.SchedSetaffinity(0, &there) != nil {
		f() // there is no other core
		return
	}
	defer func() { _ = unix.SchedSetaffinity(0, &before) }() // the thread was allowed on these before
	f()
}
