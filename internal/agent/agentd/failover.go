package agentd

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/base/lease"
	"github.com/intrahpc/intra/internal/head/arbiter"
	"github.com/intrahpc/intra/internal/job"
)

// follow handles the arbiter's decisions about the head of the job.
func (n *node) follow(a arbiter.Action) {
	n.mu.Lock()
	lead := n.lead
	switch a := a.(type) {
	case arbiter.Leader:
		n.elect(a.ID, a.Term)
	case arbiter.Yield:
		if lead != nil {
			lead.yielded = true
		}
	case arbiter.Lead:
		lead = nil // this agent was the head in an earlier term, which is over
		n.lead = n.begin(a)
		n.elect(n.Self, a.Term)
	}
	n.mu.Unlock()
	if lead != nil {
		select {
		case lead.actions <- a:
		case <-lead.done:
		}
	}
}

// elect makes the agent follow another head, unless it is the first head. The
// caller holds mu.
func (n *node) elect(id arbiter.ID, term uint64) {
	first := n.term == 0 && id == arbiter.Head
	n.leader, n.term = id, term
	if first {
		return
	}
	close(n.changed)
	n.changed = make(chan struct{})
	n.drop()
}

// follows reports whether the head of that term is still the one to follow.
func (n *node) follows(term uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.term == term
}

// failoverTime bounds how long a head may grant leases to an agent that has no connection to
// it. Until then, the old head may not know that it is replaced, or the agent may not know the
// new head. After that, only the connection can be broken.
const failoverTime = 3 * time.Second

// nextHead connects to the head that follows the head of a term. The connection to that
// earlier head has ended for the given cause. If there never is a next head, the arbiter ends
// the node.
func (n *node) nextHead(after uint64, cause error) (conn net.Conn, term uint64, err error) {
	for since := lease.Now(); ; {
		n.mu.Lock()
		id, term, changed := n.leader, n.term, n.changed
		n.mu.Unlock()
		if term > after && n.Takeover.Addresses[id] != "" {
			conn, err := n.dial(id, changed)
			if err == nil {
				return conn, term, nil
			}
			cause = err
		}
		select {
		case <-changed:
			since = lease.Now()
		case <-time.After(addressDelay):
		case <-n.over:
			return nil, 0, cause
		}
		if n.end() > since+arbiter.DefaultTiming.Lease+failoverTime {
			return nil, 0, fmt.Errorf("lost the connection to a head that is still alive: %w", cause)
		}
	}
}

// dial connects to a head. It gives up when the head changes.
func (n *node) dial(id arbiter.ID, changed <-chan struct{}) (net.Conn, error) {
	b := n.bootstrap
	secure, err := job.NewSecure(&b.Secret, agentwire.AgentName(b.Name), b.TLS)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), failoverTime)
	defer cancel()
	go func() {
		select {
		case <-changed:
		case <-n.over:
		case <-ctx.Done():
		}
		cancel()
	}()
	c, err := agentwire.Dialer().DialContext(ctx, "tcp", n.Takeover.Addresses[id])
	if err != nil {
		return nil, fmt.Errorf("connect to the new head: %w", err)
	}
	return secure.Client(ctx, c, successorName(n.Takeover.host(id, n.Roster)))
}
