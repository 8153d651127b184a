package launch

import (
	"bytes"
	"fmt"
	"os"
)

// isStopped reports whether a process is stopped by a signal. A process under
// a debugger ("t") is not.
func isStopped(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && processState(b) == 'T'
}

// processState finds the state in the text of /proc/PID/stat. The name of the
// program before it may hold anything, parentheses too.
func processState(stat []byte) byte {
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 || i+2 >= len(stat) {
		return 0
	}
	return stat[i+2]
}
