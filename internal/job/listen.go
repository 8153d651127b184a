package job

import (
	"fmt"
	"net"
	"net/netip"
)

// listenOn listens for links at "HOST:PORT". HOST is an address, the name of a network
// interface, a host name, or a network such as 10.0.0.0/8 or fd00::/8. For a network
// listenOn selects an address of this host in it.
func listenOn(place string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(place)
	if err != nil {
		return nil, fmt.Errorf("listen for links: %w", err)
	}
	if host, err = localAddress(host); err != nil {
		return nil, fmt.Errorf("listen for links: %w", err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		return nil, fmt.Errorf("listen for links: %w", err)
	}
	return l, nil
}

// localAddress returns the address that an interface or a network stands for. It selects a
// link-local address only if there is no other, because such an address needs the name of
// an interface on the other host.
func localAddress(host string) (string, error) {
	if network, err := netip.ParsePrefix(host); err == nil {
		all, err := net.InterfaceAddrs()
		if err != nil {
			return "", fmt.Errorf("list the addresses of this host: %w", err)
		}
		if a, ok := best(all, network.Contains); ok {
			return a.String(), nil
		}
		return "", fmt.Errorf("no address of this host is in %v", network)
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return host, nil
	}
	i, err := net.InterfaceByName(host)
	if err != nil {
		return host, nil // a host name; any other text makes Listen fail
	}
	all, err := i.Addrs()
	if err != nil {
		return "", fmt.Errorf("list the addresses of interface %s: %w", host, err)
	}
	a, ok := best(all, func(netip.Addr) bool { return true })
	if !ok {
		return "", fmt.Errorf("interface %s has no address", host)
	}
	if a.IsLinkLocalUnicast() && a.Is6() {
		a = a.WithZone(host)
	}
	return a.String(), nil
}

// best picks an address, IPv4 first, link-local ones last.
func best(all []net.Addr, in func(netip.Addr) bool) (found netip.Addr, ok bool) {
	rank := func(a netip.Addr) int {
		switch {
		case a.IsLinkLocalUnicast():
			return 2
		case a.Is6():
			return 1
		}
		return 0
	}
	for _, one := range all {
		n, isNet := one.(*net.IPNet)
		if !isNet {
			continue
		}
		a, valid := netip.AddrFromSlice(n.IP)
		if a = a.Unmap(); !valid || !in(a) {
			continue
		}
		if !ok || rank(a) < rank(found) {
			found, ok = a, true
		}
	}
	return found, ok
}
