package sdr

import "github.com/intrahpc/intra/transport"

// A message that a link has taken over in full counts as had by the replica
// that this process serves, which is right as long as its host lives: the
// kernel delivers what a dead process has sent. A process that says that the
// others can do without its rank has to know more. Behind all payloads that it
// has sent to a process it sends a question, which comes last on the link, and
// so does not come before them.

// confirmed reports whether all payloads and hashes that were sent to live processes have
// arrived there, and asks those that have not said so.
func (c *Core) confirmed() bool {
	all := true
	for p := range c.processes {
		pr := &c.processes[p]
		if !pr.alive || pr.arrived == pr.sent {
			continue
		}
		all = false
		if pr.asked != pr.sent {
			pr.asked = pr.sent
			h := transport.Header{Kind: kindArrived}
			h.Args[0], h.Args[1] = question, pr.sent
			c.send(p, h, nil)
		}
	}
	return all
}

// Args[0] of kindArrived.
const (
	question = iota
	answer
)

// arrived takes a question, or an answer to one.
func (c *Core) arrived(p int, h *transport.Header) {
	if h.Args[0] == question {
		reply := transport.Header{Kind: kindArrived}
		reply.Args[0], reply.Args[1] = answer, h.Args[1]
		c.send(p, reply, nil)
		return
	}
	c.processes[p].arrived = h.Args[1]
	c.news = true
}

// Received reports whether every live destination has received all that this
// process sent or would have to send for another. It asks those of whom that
// is not known.
func (c *Core) Received() bool { return c.Drained() && c.confirmed() }
