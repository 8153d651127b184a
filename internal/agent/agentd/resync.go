package agentd

import (
	"net"

	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/base/lease"
)

// attach switches to the connection of a new head, and brings that head up to date.
func (s *server) attach(conn net.Conn, term uint64) {
	m := agentwire.NewConn(conn)
	s.mu.Lock()
	logs, a := s.log.All(), Resync{Term: term}
	for _, at := range logs {
		a.Processes = append(a.Processes, ProcessResync{State: at.State})
	}
	s.mu.Unlock()
	for i, at := range logs {
		for st, b := range at.With.buffers {
			a.Processes[i].From[st], a.Processes[i].Out[st] = b.Rewind()
		}
		at.With.stdin.Put(nil) // standard input is lost with the old head
	}
	m.SendJSON(agentwire.KindResync, agentwire.Name{}, a)
	s.mu.Lock()
	s.conn, s.term = m, term
	if s.leaving {
		m.Send(agentwire.KindLeave, agentwire.Name{}, nil)
	}
	for _, at := range logs {
		repeat(m, at, lease.Now())
	}
	s.mu.Unlock()
	select {
	case <-s.node.heads.Succeeded(term): // the head has changed meanwhile
		m.Close()
	default:
	}
}
