package proc

import (
	"bytes"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// AwaitExit waits until a process has ended, without reaping it. It fails on a
// kernel without pidfds.
func AwaitExit(pid int) error {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("watch process %d: %w", pid, err)
	}
	f := os.NewFile(uintptr(fd), "pidfd")
	defer f.Close()
	rc, err := f.SyscallConn()
	if err != nil {
		return fmt.Errorf("watch process %d: %w", pid, err)
	}
	return rc.Read(func(fd uintptr) bool {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n > 0 || err != nil && err != unix.EINTR
	})
}

// SignalGroup signals a process group. An empty group is not an error.
func SignalGroup(pid int, s syscall.Signal) { _ = syscall.Kill(-pid, s) }

// Signal signals a process. A process that has ended is not an error.
func Signal(pid int, s syscall.Signal) { _ = syscall.Kill(pid, s) }

// Stopped reports whether a process is stopped by a signal. A process stopped by
// a debugger ("t") does not count.
func Stopped(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && state(b) == 'T'
}

// state returns the state in the text of /proc/PID/stat. The name of the program precedes
// it and may contain any characters, even parentheses.
func state(stat []byte) byte {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 || i+2 >= len(stat) {
		return 0
	}
	return stat[i+2]
}

// Started returns when a process was started, in ticks of the kernel. It returns
// "" if there is no such process, or only a zombie.
func Started(pid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil || state(b) == 'Z' || state(b) == 'X' {
		return ""
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < startField {
		return ""
	}
	return string(fields[startField-1])
}

// startField is the index of the start time in /proc/PID/stat, counted from the field
// after the name of the program.
const startField = 20
