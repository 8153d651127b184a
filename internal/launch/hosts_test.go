package launch

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/head/arbiter"
	"github.com/intrahpc/intra/internal/job"
)

// between is a connection between two addresses.
type between struct {
	net.Conn
	local, remote string
}

func (c between) LocalAddr() net.Addr  { return ends(c.local) }
func (c between) RemoteAddr() net.Addr { return ends(c.remote) }

func ends(host string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(host), Port: 7} }

func agentAt(name, here, there string) *remote {
	return &remote{host: &job.Host{Name: name}, listen: there, port: 9, conn: agentwire.NewConn(between{local: here, remote: there})}
}

func TestRosterIdentifiesMachinesByAddress(t *testing.T) {
	all := roster([]*remote{
		agentAt("a", "10.0.0.1", "10.0.0.2"),
		agentAt("b", "fd00::1", "fd00::1"),
		agentAt("c", "10.0.0.1", "10.0.0.2"),
	})
	require.Equal(t, []arbiter.Peer{
		{ID: 1, Host: "b"},
		{ID: 2, Host: "a", Address: "10.0.0.2:9"},
		{ID: 3, Host: "b", Address: "[fd00::1]:9"},
		{ID: 4, Host: "a", Address: "10.0.0.2:9"},
	}, all)
}
