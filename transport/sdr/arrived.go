package sdr

import "github.com/intrahpc/intra/transport"

// A message counts as received once its link has taken it over in full. That is right while
// the host of this process is up, because the kernel still delivers the data of a dead
// process. But a process may report that its rank is no longer needed only when its
// messages have really arrived. So behind all payloads for a process it sends a question.
// The link keeps the order, and thus the answer proves that the payloads have arrived.

// If messages are compared, a process must not end before the hashes of its messages have
// arrived at the other replicas of its rank. Otherwise the job could end before one of these
// replicas finds that it has sent no such message. So a process asks its receivers whether their
// hashes have arrived. A receiver whose program has returned answers when all frames that it has
// sent have arrived. A receiver whose program still runs answers at once, so no process waits for
// itself.

// confirmation is the last question to another process, and the last answer from it.
type confirmation struct {
	asked    uint64 // number of payloads and hashes in the last question
	answered uint64 // this number in the last answer
}

// The kinds of confirmations.
const (
	ofArrival = iota // the payloads and hashes have arrived
	ofHashes         // and all processes that compare the payloads have their hashes
	confirmations
)

// confirmed reports whether every live process has confirmed all payloads and hashes that
// were sent to it. It sends a question to the processes that have not.
func (o *outgoing) confirmed(kind int) bool {
	all := true
	for p := range o.job.processes {
		pr := &o.job.processes[p]
		c := &pr.confirmations[kind]
		if !pr.alive || c.answered == pr.sent {
			continue
		}
		all = false
		if c.asked != pr.sent {
			c.asked = pr.sent
			o.confirm(p, question, pr.sent, kind)
		}
	}
	return all
}

// Values of Args[0] of kindArrived.
const (
	question = iota
	answer
)

func (o *outgoing) confirm(p int, what, number uint64, kind int) {
	h := transport.Header{Kind: kindArrived}
	h.Args[0], h.Args[1], h.Args[2] = what, number, uint64(kind)
	o.out.send(p, h, nil)
}

// arrived handles a question, or the answer to one.
func (o *outgoing) arrived(p int, h *transport.Header) error {
	pr, kind := &o.job.processes[p], h.Args[2]
	if kind >= confirmations {
		return violation(pr, h, "unknown confirmation")
	}
	switch {
	case h.Args[0] == answer:
		pr.confirmations[kind].answered = h.Args[1]
		o.out.wake = true
	case kind == ofHashes:
		pr.awaitsHashes = h.Args[1]
	default:
		o.confirm(p, answer, h.Args[1], ofArrival)
		return nil
	}
	o.hashesKnown()
	return nil
}

// hashesKnown answers the questions about hashes, if that is possible now. While the
// program runs it always is, because the hashes are sent before the program ends.
func (o *outgoing) hashesKnown() {
	for p := range o.job.processes {
		pr := &o.job.processes[p]
		if pr.awaitsHashes == 0 || !pr.alive {
			continue
		}
		if o.job.draining && o.comparer.involved && !o.confirmed(ofArrival) {
			return
		}
		o.confirm(p, answer, pr.awaitsHashes, ofHashes)
		pr.awaitsHashes = 0
	}
}

// Received reports whether every live destination has received all messages that this
// process sent, or would have to send in place of another replica. It sends a question to
// the destinations that have not confirmed that.
func (o *outgoing) Received() bool { return o.Drained() && o.confirmed(ofArrival) }
