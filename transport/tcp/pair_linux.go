package tcp

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// PairUnix makes two connected Unix stream sockets without a name. The two processes of a link
// inherit one each, and turn it into a connection with net.FileConn.
func PairUnix() (a, b *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("create a pair of sockets: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "link"), os.NewFile(uintptr(fds[1]), "link"), nil
}
