package listen

import (
	"errors"
	"fmt"
	"net"
	"time"
)

// loopbacks are the loopback addresses. A host may lack one of them: a host with only IPv6
// has no 127.0.0.1, and many containers have no ::1.
var loopbacks = []string{"127.0.0.1", "::1"}

// reachTime bounds an attempt of a host to connect to itself. No packet leaves the host.
const reachTime = 2 * time.Second

// ErrNoLoopback marks a host whose processes cannot connect to each other.
var ErrNoLoopback = errors.New("this host does not reach itself: want the network interface lo up, like by ip link set lo up")

// Loopback returns an address at which only processes of this host can reach each
// other.
func Loopback() (string, error) {
	var all []error
	for _, host := range loopbacks {
		err := reach(host)
		if err == nil {
			return host, nil
		}
		all = append(all, err)
	}
	return "", fmt.Errorf("%w (%w)", ErrNoLoopback, errors.Join(all...))
}

// Everywhere returns the network for listening at all addresses of this host: "tcp" or
// "udp", or the variant for IPv6 only. If the host has no 127.0.0.1, package net would
// otherwise listen only on IPv4.
func Everywhere(network string) string {
	if local, err := Loopback(); err == nil && local == "::1" {
		return network + "6"
	}
	return network
}

// Local listens on a free port of the loopback address.
func Local() (net.Listener, error) {
	host, err := Loopback()
	if err != nil {
		return nil, err
	}
	return net.Listen("tcp", net.JoinHostPort(host, "0"))
}

// reach connects to an address of this host. A successful Listen alone proves
// nothing: without lo a socket can be bound to 127.0.0.1, but no connection
// reaches it.
func reach(host string) error {
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return err
	}
	defer l.Close()
	return Reachable(l.Addr().String())
}

// Reachable returns nil if this host can connect to one of its own addresses. A process
// must be listening at that address.
func Reachable(address string) error {
	c, err := net.DialTimeout("tcp", address, reachTime)
	if err != nil {
		return err
	}
	return c.Close()
}
