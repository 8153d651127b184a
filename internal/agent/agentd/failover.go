package agentd

import "github.com/intrahpc/intra/internal/head/arbiter"

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

// elect makes the agent follow another head, unless it is the first head.
func (n *node) elect(id arbiter.ID, term uint64) {
	if n.heads.Elect(id, term) {
		n.drop()
	}
}
