package supervise

import (
	"fmt"
	"os"

	"github.com/intrahpc/intra/internal/job"
)

// placed records the slot that a process takes. A spare had another name before.
func (a *Agent) placed(p job.Process, s *job.Setup) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.children[p]; c != nil {
		c.as = job.Endpoint{Process: s.Self, Incarnation: s.Incarnation}
	}
}

// want gives a process and a peer the two ends of a link that the process has requested. If
// both request it, it is made once. If the peer has ended, the process gets the reason instead
// of a link.
func (a *Agent) want(c *child, peer job.Endpoint) {
	a.mu.Lock()
	other := a.at(peer)
	if c.linked[peer] { // the peer has already requested this link
		a.mu.Unlock()
		return
	}
	c.link(peer)
	if other != nil {
		other.link(c.as)
	}
	a.mu.Unlock()
	if other == nil {
		c.give(peer, nil, fmt.Sprintf("%v has ended", peer.Process))
		return
	}
	lower, higher, err := job.LinkFiles(a.plan.Link, a.plan.Ring)
	if err != nil { // both ends report a broken link, and the head ends one of the two processes
		a.mu.Lock()
		delete(c.linked, peer)
		delete(other.linked, c.as) // the peer may not know c yet, and requests the link once it does
		a.mu.Unlock()
		c.give(peer, nil, fmt.Sprintf("make it: %v", err))
		other.give(c.as, nil, fmt.Sprintf("make it: %v", err))
		return
	}
	if c.as.Compare(peer) > 0 {
		lower, higher = higher, lower
	}
	c.give(peer, lower, "")
	other.give(c.as, higher, "")
}

// at returns the process in a slot. It returns nil if the process has ended. The caller holds
// mu.
func (a *Agent) at(e job.Endpoint) *child {
	for _, c := range a.children {
		if c.as == e {
			return c
		}
	}
	return nil
}

func (c *child) link(peer job.Endpoint) {
	if c.linked == nil {
		c.linked = make(map[job.Endpoint]bool)
	}
	c.linked[peer] = true
}

// give sends a process its end of the link to a peer, or the reason why there is no link.
func (c *child) give(peer job.Endpoint, end *os.File, why string) {
	m := &job.Message{Kind: job.KindLink, Process: &peer.Process, Incarnation: peer.Incarnation, Text: why}
	if end == nil {
		c.mail.send(m)
		return
	}
	c.mail.send(m, end)
}
