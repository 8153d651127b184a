package agentd

import (
	"maps"
	"net"
	"slices"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/lease"
)

// attach gives the connection to a new head, which is told all that it has to
// know.
func (s *server) attach(conn net.Conn, term uint64) {
	m := agentwire.NewConn(conn)
	s.mu.Lock()
	logs := slices.SortedFunc(maps.Values(s.logs), func(a, b *processLog) int { return a.name.ID.Compare(b.name.ID) })
	a := Resync{Term: term}
	for _, at := range logs {
		a.Processes = append(a.Processes, ProcessResync{Name: at.name, PID: at.pid, Joined: at.joined, Begun: at.begun, Voiced: at.voiced, Generation: at.resumed, Freed: at.freed})
	}
	s.mu.Unlock()
	for i, at := range logs {
		for st, b := range at.buffers {
			a.Processes[i].From[st], a.Processes[i].Out[st] = b.Rewind()
		}
		at.stdin.Put(nil) // it was the lost head's
	}
	m.SendJSON(agentwire.KindResync, agentwire.Name{}, a)
	s.mu.Lock()
	s.conn, s.term = m, term
	for _, at := range logs {
		for _, t := range at.history {
			m.Send(t.kind, at.name, t.again(lease.Now()))
		}
	}
	s.mu.Unlock()
	if !s.node.follows(term) { // meanwhile there is another one
		m.Close()
	}
}
