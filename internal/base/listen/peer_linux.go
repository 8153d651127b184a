package listen

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// ErrStranger marks a connection to a process of another user.
var ErrStranger = errors.New("the other end belongs to another user")

// Peer returns the process at the other end of a connection, as of the time of its connect
// or listen call.
func Peer(c *net.UnixConn) (*unix.Ucred, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return nil, err
	}
	return cred, failed
}

// Own returns nil if the process at the other end belongs to this user, or to root.
func Own(c *net.UnixConn) error {
	cred, err := Peer(c)
	if err != nil {
		return fmt.Errorf("find the user at the other end: %w", err)
	}
	if uid := int(cred.Uid); uid != os.Geteuid() && uid != 0 {
		return fmt.Errorf("%w (%d)", ErrStranger, uid)
	}
	return nil
}
