package agentwire

import (
	"fmt"
	"net"

	"github.com/intrahpc/intra/internal/base/listen"
)

// Addresses returns the addresses at which l can be reached: at host if it is given, otherwise
// at all addresses of this host, IPv4 first.
func Addresses(l net.Addr, host string) ([]string, error) {
	_, port, err := net.SplitHostPort(l.String())
	if err != nil {
		return nil, err
	}
	if host != "" {
		return []string{net.JoinHostPort(host, port)}, nil
	}
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("find the addresses of this host: %w", err)
	}
	var v4, v6 []string
	for _, i := range interfaces {
		n, ok := i.(*net.IPNet)
		switch {
		case !ok || !n.IP.IsGlobalUnicast():
		case n.IP.To4() != nil:
			v4 = append(v4, net.JoinHostPort(n.IP.String(), port))
		default:
			v6 = append(v6, net.JoinHostPort(n.IP.String(), port))
		}
	}
	if all := append(v4, v6...); len(all) > 0 {
		return all, nil
	}
	local, err := listen.Loopback() // this host has no network
	if err != nil {
		return nil, err
	}
	return []string{net.JoinHostPort(local, port)}, nil
}
