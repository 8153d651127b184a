package launch

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/detect"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/runreport"
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

func TestRosterKnowsMachinesByTheirAddresses(t *testing.T) {
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

func TestEvidence(t *testing.T) {
	h := &head{config: &Config{}, joined: time.Now().Add(-time.Minute)}
	w := &hosts{head: h, self: arbiter.Head, name: "x", suspected: map[arbiter.ID]time.Duration{3: 59 * time.Second},
		agents: []*remote{agentAt("a", "", ""), agentAt("b", "", "")}}
	w.agents[1].ended = "reset"
	var why string
	var e *evidence
	m := agentwire.NewConn(closed{})
	w.agents[1].conn, w.agents[1].lost = m, func(s string, ev *evidence) { why, e = s, ev }
	entry := arbiter.Entry{Kind: arbiter.Lost, Node: 3, Testimonies: []detect.Testimony{
		{Observer: 1, Sighting: detect.Sighting{Host: 3, Age: 800 * time.Millisecond, Limit: 650 * time.Millisecond}},
		{Observer: 2, Sighting: detect.Sighting{Host: 3, Age: 700 * time.Millisecond, Limit: 660 * time.Millisecond}},
	}}
	w.lose(entry)
	require.Equal(t, "host b has not been heard from for 0.7 s (0.80 s by the head, 0.70 s by a), after its connection ended: reset", why)
	e.complete(h)
	require.Equal(t, "a", e.LastHeardBy)
	require.Equal(t, []runreport.Observation{{Observer: "the head", Silent: 0.8, Limit: 0.65}, {Observer: "a", Silent: 0.7, Limit: 0.66}}, e.Observers)
	require.InDelta(t, 0.7, e.Declared-e.LastHeard, 1e-9)
	require.Equal(t, 59.0, e.Suspected)

	e = nil
	w.lose(entry)
	require.Nil(t, e, "once")
	for _, node := range []arbiter.ID{1, 4} {
		entry.Node = node
		w.lose(entry)
	}
}

// closed is a connection that has ended.
type closed struct{ net.Conn }

func (closed) Read([]byte) (int, error)  { return 0, net.ErrClosed }
func (closed) Write([]byte) (int, error) { return 0, net.ErrClosed }
func (closed) Close() error              { return nil }
