//go:build !unix

package head

import (
	"fmt"
	"syscall"
)

// signalName returns the number of a signal. On this system a job runs in one process only,
// and its head sends no signals.
func signalName(s syscall.Signal) string { return fmt.Sprintf("signal %d", int(s)) }
