package arbiter

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
)

// A guest is a node that has joined the running job. It has leases and is watched like every
// other node, but it exchanges beats with the members only, and it never becomes a member: the
// decisions stay among the nodes of the start, so no majority changes when hosts join.
//
// The head admits a guest once the decision that its host has joined is kept. The members learn of
// the guest from the log, and so does a node that becomes a member later. The guest knows the nodes
// of the start.

// guestPatience bounds the time in which a guest that is admitted has to answer its first beat.
func (t *Timing) guestPatience() time.Duration { return t.Detect.Ceiling }

// NewGuest returns the node of a host that joins a running job.
func NewGuest(self Peer, roster []Peer, timing Timing, now time.Duration) (*Node, error) {
	if err := errors.Join(checkRoster(roster), timing.check()); err != nil {
		return nil, err
	}
	if self.ID <= roster[len(roster)-1].ID {
		return nil, fmt.Errorf("%w: node %d joins a job that had node %d at its start", ErrRoster, self.ID, roster[len(roster)-1].ID)
	}
	n := newNode(self.ID, roster, timing, now)
	n.guests = []ID{self.ID}
	n.greet(now)
	return n, nil
}

// Admit begins to exchange beats with a node that has joined the running job.
func (n *Node) Admit(p Peer, now time.Duration) []Action {
	n.admit(p, now)
	return n.take()
}

// admit begins to exchange beats with a guest, once.
func (n *Node) admit(p Peer, now time.Duration) {
	if _, first := n.place[p.ID]; first || n.isGuest(p.ID) {
		return
	}
	n.guests = append(n.guests, p.ID)
	n.act(Meet{p})
	n.know(p.ID, now, now+n.timing.guestPatience())
}

// know begins to exchange beats with a node, which has to answer for the first time before due.
func (n *Node) know(id ID, now, due time.Duration) {
	n.order = append(n.order, id)
	n.peers[id] = &peer{direct: now, due: due, sightings: make(map[ID]report)}
	n.observer.Watch(id, now)
}

// admitHosts admits the hosts that have joined according to the log.
func (n *Node) admitHosts(now time.Duration) {
	for _, h := range n.log.state.Hosts {
		n.admit(Peer{ID: h.Node, Host: h.Name, Address: h.Beats}, now)
	}
}

func (r *ring) isGuest(id detect.ID) bool { return slices.Contains(r.guests, id) }
