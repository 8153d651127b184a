package job

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Environment variables of a process that a launcher has started. Join removes
// them, so that what the process starts is not taken for a part of the job.
const (
	// EnvControl names inherited descriptors: "CONTROL,SECRET,CRASH", and after
	// them ",LEASE" if the processes of this host run by a lease.
	EnvControl = "INTRA_CONTROL"
	// EnvProcess is RANK.REPLICA, for wrapper scripts.
	EnvProcess = "INTRA_PROCESS"
)

// Inheritance is what a process gets from its launcher by inheritance.
type Inheritance struct {
	Control *os.File // its end of the control connection
	Secret  *os.File // holds the secret of the job
	Crash   *os.File // pipe for the text of a crash
	Lease   *os.File // of a lease.Word; nil if the host has no lease
}

// Files lists the descriptors in the order of os/exec.Cmd.ExtraFiles.
func (i Inheritance) Files() []*os.File {
	all := []*os.File{i.Control, i.Secret, i.Crash}
	if i.Lease != nil {
		all = append(all, i.Lease)
	}
	return all
}

// Environ returns the variables that announce Files to process p.
func (i Inheritance) Environ(p Process) []string {
	const first = 3 // descriptor of the first of ExtraFiles
	var fds []string
	for n := range i.Files() {
		fds = append(fds, strconv.Itoa(first+n))
	}
	return []string{EnvControl + "=" + strings.Join(fds, ","), EnvProcess + "=" + p.String()}
}

// Close closes this process's copies.
func (i Inheritance) Close() {
	for _, f := range i.Files() {
		f.Close()
	}
}

// inherited finds the descriptors that the environment names and takes them
// out of the reach of child processes. ok is false without a launcher.
func inherited() (i Inheritance, ok bool, err error) {
	v, ok := os.LookupEnv(EnvControl)
	if !ok {
		return i, false, nil
	}
	os.Unsetenv(EnvControl)
	os.Unsetenv(EnvProcess)
	kinds := []uint32{unix.S_IFSOCK, unix.S_IFREG, unix.S_IFIFO, unix.S_IFREG}
	names := strings.Split(v, ",")
	if len(names) < len(kinds)-1 || len(names) > len(kinds) {
		return i, true, fmt.Errorf("environment variable %s=%q is not three or four descriptors", EnvControl, v)
	}
	// The Go runtime may have opened something of its own where a wrapper has
	// closed ours: that must stay as it is.
	var fds []int
	for n, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil {
			return i, true, fmt.Errorf("environment variable %s=%q is not three or four descriptors: %w", EnvControl, v, err)
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || fd < 3 || st.Mode&unix.S_IFMT != kinds[n] {
			return i, true, fmt.Errorf("descriptor %d is not the launcher's: a wrapper must leave the descriptors %s open", fd, v)
		}
		fds = append(fds, fd)
	}
	for _, fd := range fds {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC); err != nil {
			return i, true, fmt.Errorf("keep descriptor %d from child processes: %w", fd, err)
		}
	}
	i = Inheritance{
		Control: os.NewFile(uintptr(fds[0]), "control"),
		Secret:  os.NewFile(uintptr(fds[1]), "secret"),
		Crash:   os.NewFile(uintptr(fds[2]), "crash"),
	}
	if len(fds) > 3 {
		i.Lease = os.NewFile(uintptr(fds[3]), "lease")
	}
	return i, true, nil
}

// reportCrashes has the Go runtime copy the text of a crash, in whatever
// goroutine, to the launcher, which can then tell it from the program's output.
// It returns a copy of the pipe.
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
