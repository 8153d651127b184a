//go:build !unix

package head

import (
	"fmt"
	"syscall"
)

// signalName returns the number of a signal. On this system a job runs in one process only,
// which gets no signals from a head.
func signalName(s syscall.Signal) string { return fmt.Sprintf("signal %d", int(s)) }
