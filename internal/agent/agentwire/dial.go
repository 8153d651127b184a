package agentwire

import (
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// HeadName is the name of the first head for its connections.
const HeadName = "head"

// AgentName returns that of the agent of a host.
func AgentName(host string) string { return "agent " + host }

// connectionTime is how long a connection may carry nothing in one direction: the
// kernel ends it then or little later.
const connectionTime = 2 * time.Second

// ListenConfig returns how to listen for control connections.
func ListenConfig() *net.ListenConfig {
	return &net.ListenConfig{KeepAliveConfig: keepAlive, Control: bound}
}

// Dialer returns how to make them.
func Dialer() *net.Dialer { return &net.Dialer{KeepAliveConfig: keepAlive, Control: bound} }

// keepAlive has the kernel try an idle connection.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: int(connectionTime / time.Second)}

// bound sets how long what a control connection sends may stay unacknowledged.
// Accepted connections have it from the listening socket.
func bound(_, _ string, c syscall.RawConn) error {
	var set error
	err := c.Control(func(fd uintptr) {
		set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(connectionTime.Milliseconds()))
	})
	if err = errors.Join(err, set); err != nil {
		return fmt.Errorf("bound how long data may stay unacknowledged: %w", err)
	}
	return nil
}
