package decision

import (
	"net"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
)

// Host is a host that has joined the running job.
type Host struct {
	Node   detect.ID     `json:"node"` // higher than the nodes of all earlier hosts
	Name   string        `json:"name"`
	Slots  int           `json:"slots"`
	Rack   string        `json:"rack,omitempty"`
	Listen string        `json:"listen"` // address for links over TCP, without a port
	Beats  string        `json:"beats"`  // host:port of the socket of its arbiter
	At     time.Duration `json:"at"`
}

// ListenAt returns where processes of the host listen for links over TCP: at any port.
func (h *Host) ListenAt() string { return net.JoinHostPort(h.Listen, "0") }

// joinHost records that a host has joined. An entry whose node is not higher than all before
// it changes nothing.
func (s *State) joinHost(e Entry) {
	if n := len(s.Hosts); n > 0 && s.Hosts[n-1].Node >= e.Host.Node {
		return
	}
	h := *e.Host
	h.At = e.At
	s.Hosts = append(s.Hosts, h)
}
