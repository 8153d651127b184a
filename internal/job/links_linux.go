package job

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/shm"
	"github.com/intrahpc/intra/transport/tcp"
)

// DefaultRing is the size of a shared-memory ring that suits most programs, in
// bytes.
const DefaultRing = shm.DefaultSize

// LinkFiles makes a link between two processes of one host. It returns one descriptor for
// each; lower is for the process that comes first in Compare. ring is the size of a
// shared-memory ring in bytes. Links over TCP have no descriptors.
func LinkFiles(kind string, ring int) (lower, higher *os.File, err error) {
	switch kind {
	case LinkSHM:
		s, err := shm.Create(ring)
		if err != nil {
			return nil, nil, err
		}
		lower = s.File()
		if higher, err = Duplicate(lower); err != nil {
			lower.Close()
			return nil, nil, err
		}
		return lower, higher, nil
	case LinkUnix:
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, nil, fmt.Errorf("create a pair of sockets: %w", err)
		}
		return os.NewFile(uintptr(fds[0]), "link"), os.NewFile(uintptr(fds[1]), "link"), nil
	}
	return nil, nil, fmt.Errorf("link %q has no descriptors", kind)
}

// Duplicate returns a second descriptor of the same file.
func Duplicate(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("duplicate a descriptor: %w", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// Links makes the ends of links within a host. With the zero value each end waits in a
// thread of its own.
type Links struct{ sleeper *shm.Sleeper }

// NewLinks returns Links for the ends of one process. If the kernel supports it, one thread
// waits for all of them.
func NewLinks() Links { return Links{shm.NewSleeper()} }

// Open makes a link of a descriptor from LinkFiles, and takes the descriptor over. higher
// means that the process at the other end comes first in Compare.
func (l Links) Open(kind string, f *os.File, higher bool) (transport.Link, error) {
	defer f.Close()
	switch kind {
	case LinkSHM:
		side := 0
		if higher {
			side = 1
		}
		return l.sleeper.Open(f, side)
	case LinkUnix:
		c, err := net.FileConn(f)
		if err != nil {
			return nil, err
		}
		return tcp.New(c), nil
	}
	return nil, fmt.Errorf("link %q has no descriptor", kind)
}
