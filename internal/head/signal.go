//go:build unix

package head

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalName returns the name of a signal, like SIGKILL.
func signalName(s syscall.Signal) string {
	if n := unix.SignalName(s); n != "" {
		return n
	}
	return fmt.Sprintf("signal %d", int(s))
}
