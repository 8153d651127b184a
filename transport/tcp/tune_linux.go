package tcp

import (
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// Whether the path to the peer still carries anything is the kernel's to find
// out, which answers also while a process computes: data that is not
// acknowledged, and probes on an idle connection that are not answered, end
// the connection after brokenAfter. Shorter cuts TCP bridges by itself.
const (
	probeEvery  = time.Second
	brokenAfter = 4 * time.Second
)

// bufferSize is asked for in both directions of a Unix socket. TCP sizes its
// buffers by itself, and better.
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
