package tcp

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// PairUnix makes two connected Unix stream sockets that have no name, to be
// inherited by the two processes of a link. The process that gets one makes a
// connection of it with net.FileConn.
func PairUnix() (a, b *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("create a pair of sockets: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "link"), os.NewFile(uintptr(fds[1]), "link"), nil
}
