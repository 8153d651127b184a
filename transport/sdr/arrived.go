package sdr

import "github.com/intrahpc/intra/transport"

// A message counts as received once its link has taken it over in full. That is right while
// the host of this process lives, since the kernel delivers what a dead process has sent. A
// process must know more before it reports that its rank is no longer needed. Behind all
// payloads for a process it sends a question. The link keeps the order, so the answer
// proves that the payloads have arrived.

// confirmed reports whether all payloads and hashes that were sent to live processes have
// arrived. It asks the processes that have not confirmed that.
func (o *outgoing) confirmed() bool {
	all := true
	for p := range o.job.processes {
		pr := &o.job.processes[p]
		if !pr.alive || pr.arrived == pr.sent {
			continue
		}
		all = false
		if pr.asked != pr.sent {
			pr.asked = pr.sent
			h := transport.Header{Kind: kindArrived}
			h.Args[0], h.Args[1] = question, pr.sent
			o.out.send(p, h, nil)
		}
	}
	return all
}

// Values of Args[0] of kindArrived.
const (
	question = iota
	answer
)

// arrived handles a question, or the answer to one.
func (o *outgoing) arrived(p int, h *transport.Header) {
	if h.Args[0] == question {
		reply := transport.Header{Kind: kindArrived}
		reply.Args[0], reply.Args[1] = answer, h.Args[1]
		o.out.send(p, reply, nil)
		return
	}
	o.job.processes[p].arrived = h.Args[1]
	o.out.news = true
}

// Received reports whether every live destination has received all that this process sent,
// or would have to send in place of another replica. It asks the destinations that have not
// confirmed that.
func (o *outgoing) Received() bool { return o.Drained() && o.confirmed() }
