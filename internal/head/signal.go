//go:build unix

package head

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// signalName names a signal as people do, like SIGKILL.
func signalName(s syscall.Signal) string {
	if n := unix.SignalName(s); n != "" {
		return n
	}
	return fmt.Sprintf("signal %d", int(s))
}
