//go:build !unix

package head

import (
	"fmt"
	"syscall"
)

// signalName numbers a signal: where processes have none, a job only runs in one
// process.
func signalName(s syscall.Signal) string { return fmt.Sprintf("signal %d", int(s)) }
