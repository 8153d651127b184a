package tcp

import (
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// The kernel checks whether the path to the peer still works, even while the process
// computes. It ends the connection if, for brokenAfter, data stay unacknowledged or probes
// on an idle connection stay unanswered. TCP bridges shorter interruptions by itself.
const (
	probeEvery  = time.Second
	brokenAfter = 4 * time.Second
)

// bufferSize is requested for both directions of a Unix socket. TCP chooses its
// buffer sizes better by itself.
const bufferSize = 4 << 20

// tune prepares a socket for a link.
func tune(conn net.Conn) error {
	switch c := conn.(type) {
	case *net.UnixConn:
		return errors.Join(c.SetReadBuffer(bufferSize), c.SetWriteBuffer(bufferSize))
	case *net.TCPConn:
		if err := errors.Join(c.SetNoDelay(true), c.SetKeepAliveConfig(net.KeepAliveConfig{
			Enable: true, Idle: probeEvery, Interval: probeEvery, Count: int(brokenAfter / probeEvery),
		})); err != nil {
			return err
		}
		raw, err := c.SyscallConn()
		if err != nil {
			return err
		}
		var set error
		err = raw.Control(func(fd uintptr) {
			set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(brokenAfter.Milliseconds()))
		})
		if err = errors.Join(err, set); err != nil {
			return fmt.Errorf("bound how long data may stay unacknowledged: %w", err)
		}
	}
	return nil
}
