package cure

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	xfsz = unix.SIGXFSZ
	xcpu = unix.SIGXCPU
)

// writesFail catches the signal. Nothing reads the channel, so further signals
// are dropped.
func writesFail() { signal.Notify(make(chan os.Signal, 1), xfsz) }

// fileSize describes the limit on file sizes.
func fileSize() string {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &l); err != nil || l.Cur == unix.RLIM_INFINITY {
		return "the file system, or a limit (ulimit -f), allows no larger file"
	}
	return fmt.Sprintf("the limit on file sizes is %d bytes: raise it (ulimit -f)", l.Cur)
}

// processes describes the limit on the user's processes.
func processes() string {
	const cgroup = "or that of the cgroup (pids.max)"
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &l); err != nil || l.Cur == unix.RLIM_INFINITY {
		return "the limit on processes and threads, " + cgroup + ", is used up: raise it (ulimit -u), or run fewer"
	}
	return fmt.Sprintf("the limit on processes and threads of this user, %d, %s, is used up: raise it (ulimit -u), or run fewer", l.Cur, cgroup)
}

// notExecutable returns an explanation if the file system of a program is mounted
// noexec, otherwise "".
func notExecutable(path string) string {
	dir := filepath.Dir(path)
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Flags&unix.ST_NOEXEC == 0 {
		return ""
	}
	return fmt.Sprintf("%s is on a file system mounted noexec: set TMPDIR to a folder where programs may run, or give a program that is elsewhere", dir)
}
