package job

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// inherited returns the descriptors that the environment names, and makes sure that child
// processes do not inherit them. If no launcher has started the process, ok is false.
func inherited() (i Inheritance, ok bool, err error) {
	v, ok := os.LookupEnv(EnvControl)
	if !ok {
		return i, false, nil
	}
	os.Unsetenv(EnvControl)
	os.Unsetenv(EnvProcess)
	local, slot := os.Getenv(EnvLocal), os.Getenv(EnvSlot)
	os.Unsetenv(EnvLocal)
	os.Unsetenv(EnvSlot)
	if i.Local, err = strconv.Atoi(local); err != nil {
		return i, true, fmt.Errorf("environment variable %s=%q is not the launcher's number of processes: %w", EnvLocal, local, err)
	}
	kinds := []uint32{unix.S_IFSOCK, unix.S_IFREG, unix.S_IFIFO, unix.S_IFREG}
	names := strings.Split(v, ",")
	if len(names) < len(kinds)-1 || len(names) > len(kinds) {
		return i, true, fmt.Errorf("environment variable %s=%q is not three or four descriptors", EnvControl, v)
	}
	if slot != "" {
		board, number, _ := strings.Cut(slot, ",")
		if i.Slot, err = strconv.Atoi(number); err != nil {
			return i, true, fmt.Errorf("environment variable %s=%q is not a descriptor and a number: %w", EnvSlot, slot, err)
		}
		kinds = append(kinds[:len(names)], unix.S_IFREG)
		names = append(names, board)
	}
	// A wrapper may have closed a descriptor, and the Go runtime may have opened a file of
	// its own under that number. That file must not be touched. So each descriptor is
	// checked first.
	var fds []int
	for n, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil {
			return i, true, fmt.Errorf("environment variables %s=%q and %s=%q do not name descriptors: %w", EnvControl, v, EnvSlot, slot, err)
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || fd < 3 || st.Mode&unix.S_IFMT != kinds[n] {
			return i, true, fmt.Errorf("descriptor %d is not the launcher's: a wrapper must leave the descriptors %s open", fd, strings.Join(names, ","))
		}
		fds = append(fds, fd)
	}
	for _, fd := range fds {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
			return i, true, fmt.Errorf("keep descriptor %d from child processes: %w", fd, err)
		}
	}
	i.Control = os.NewFile(uintptr(fds[0]), "control")
	i.Secret = os.NewFile(uintptr(fds[1]), "secret")
	i.Crash = os.NewFile(uintptr(fds[2]), "crash")
	if slot != "" {
		last := len(fds) - 1
		i.Board, fds = os.NewFile(uintptr(fds[last]), "board"), fds[:last]
	}
	if len(fds) > 3 {
		i.Lease = os.NewFile(uintptr(fds[3]), "lease")
	}
	return i, true, nil
}

// reportCrashes makes the Go runtime copy the text of a crash in any goroutine to the launcher,
// which can then distinguish the text from the program's output. It returns a copy of the pipe.
func reportCrashes(f *os.File) (*os.File, error) {
	if err := debug.SetCrashOutput(f, debug.CrashOptions{}); err != nil {
		return nil, fmt.Errorf("hand over the pipe for crashes: %w", err)
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("copy the pipe for crashes: %w", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// File returns a sealed anonymous file that holds the secret, for a process to
// inherit.
func (s *Secret) File() (*os.File, error) {
	fd, err := unix.MemfdCreate("intra-secret", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("create the file of the secret: %w", err)
	}
	f := os.NewFile(uintptr(fd), "intra-secret")
	if _, err := f.Write(s[:]); err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
		if err == nil {
			return f, nil
		}
	}
	f.Close()
	return nil, fmt.Errorf("write the file of the secret: %w", err)
}
