package supervise

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// CheckDescriptors makes sure, by raising the limit if it has to, that this
// process can open what n processes take, and each of them its links.
func CheckDescriptors(n int) error {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return fmt.Errorf("ask for the limit of open files: %w", err)
	}
	// Per process the ends of its control connection, four pipes and two
	// process descriptors; and the links that wait to be sent, at worst all.
	need := uint64(64 + 8*n + n*(n-1))
	if need > l.Cur && l.Cur < l.Max {
		l.Cur = min(need, l.Max)
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
			return fmt.Errorf("raise the limit of open files to %d: %w", l.Cur, err)
		}
	}
	if need > l.Cur {
		return fmt.Errorf("%d processes need up to %d open files, and the limit is %d: raise it (ulimit -n) or run fewer", n, need, l.Cur)
	}
	return nil
}
