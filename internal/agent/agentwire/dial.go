package agentwire

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// HeadName is the name of the first head in the handshake of connections.
const HeadName = "head"

// RelayName is the name of the intrarun that the user started, once its head has handed over.
const RelayName = "relay"

// AgentName returns the name of the agent of a host.
func AgentName(host string) string { return agentPrefix + host }

// AgentHost returns the host in the name of an agent. ok is false for any other name.
func AgentHost(name string) (host string, ok bool) { return strings.CutPrefix(name, agentPrefix) }

// JoinerName returns the name of the agent of a host that joins a running job.
func JoinerName(host string) string { return joinerPrefix + host }

// JoinerHost returns the host in the name of an agent that joins a running job. ok is false for
// any other name.
func JoinerHost(name string) (host string, ok bool) { return strings.CutPrefix(name, joinerPrefix) }

const (
	agentPrefix  = "agent "
	joinerPrefix = "joiner "
)

// connectionTime is how long a connection may carry nothing in one direction before the kernel
// ends it. The kernel may take slightly longer.
const connectionTime = 2 * time.Second

// ListenConfig returns the configuration for listening for control connections.
func ListenConfig() *net.ListenConfig {
	return &net.ListenConfig{KeepAliveConfig: keepAlive, Control: bound}
}

// Dialer returns the dialer of control connections.
func Dialer() *net.Dialer { return &net.Dialer{KeepAliveConfig: keepAlive, Control: bound} }

// keepAlive makes the kernel probe an idle connection.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: int(connectionTime / time.Second)}

// bound limits how long data of a control connection may stay unacknowledged.
// Accepted connections inherit the limit from the listening socket.
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
