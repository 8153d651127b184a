package checkpoint

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/internal/base/proc"
)

// lockFile is the locker of this system. The lock belongs to the open file, not to the
// process, so other threads and files do not affect it. It can change between exclusive
// and shared without being released.
func lockFile(f *os.File, alone bool) error {
	l := unix.Flock_t{Type: unix.F_RDLCK} // a lock of the whole file
	if alone {
		l.Type = unix.F_WRLCK
	}
	for {
		err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &l)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES):
			return errHeld
		case errors.Is(err, unix.ENOLCK), errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EINVAL):
			return errNoLocks
		}
		return fmt.Errorf("lock %s: %w", f.Name(), err)
	}
}

// system identifies the boot and the PID namespace in which process numbers are valid, ""
// if unknown.
func system() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + space
}

// started distinguishes a process from later ones with the same number. It returns "" if
// there is no such process.
func started(pid int) string { return proc.Started(pid) }
