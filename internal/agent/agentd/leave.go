package agentd

import (
	"errors"

	"github.com/intrahpc/intra/internal/agent/agentwire"
)

// ErrLeft reports that this host has left the job on notice: its processes were moved, or
// ended with a replica elsewhere.
var ErrLeft = errors.New("this host has left the job")

// stopped is the end of an agent on the order of its head.
type stopped struct{ error }

// awaitLeave requests that this host leaves the job when the first SIGTERM arrives, also if
// this agent is the head. On the second one it ends the agent.
func (s *server) awaitLeave(ended chan<- error, quit <-chan struct{}) {
	for again := false; ; again = true {
		select {
		case <-s.leave:
		case <-quit:
			return
		}
		if again {
			ended <- errors.New("ended by SIGTERM")
			return
		}
		s.mu.Lock()
		s.leaving = true
		s.conn.Send(agentwire.KindLeave, agentwire.Name{}, nil)
		s.mu.Unlock()
	}
}
