//go:build !linux

package cure

import "syscall"

// Processes of a job do not run on this system, so the signals of limits have no valid
// numbers.
const (
	xfsz = syscall.Signal(-1)
	xcpu = syscall.Signal(-2)
)

func writesFail() {}

func fileSize() string {
	return "the file system, or a limit (ulimit -f), allows no larger file"
}

func processes() string { return "the limit on processes (ulimit -u) is used up" }

func notExecutable(string) string { return "" }
