package engine

import (
	"errors"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr"
)

// receiver passes each frame of a link to the layer that the frame belongs to.
type receiver struct {
	node        *node
	deaths      *deaths
	from        job.Process
	incarnation uint32 // incarnation in which that process began

	of       *sdr.Engine        // engine that messages belongs to
	messages transport.Receiver // receives the messages between ranks
	begun    transport.Receiver // receives the frame announced by Begin
	updates  updateReceiver
	states   stateReceiver
}

func newReceiver(e *Engine, from job.Process, incarnation uint32) *receiver {
	return &receiver{node: e.node, deaths: &e.deaths, from: from, incarnation: incarnation,
		updates: updateReceiver{sharing: e.sharing, from: from}, states: stateReceiver{recovering: e.recovering, from: from}}
}

// to returns the receiver of a channel, nil if there is none. A process without a position
// receives no messages.
func (r *receiver) to(channel transport.Channel) transport.Receiver {
	switch channel {
	case transport.ChannelMessage:
		if m := r.node.messages.Load(); m != r.of {
			r.of, r.messages = m, m.Receiver(r.from.Rank, r.from.Replica)
		}
		return r.messages
	case transport.ChannelRecovery:
		return &r.states
	}
	return &r.updates
}

// Begin implements transport.Receiver.
func (r *receiver) Begin(h *transport.Header) []byte {
	if r.begun = r.to(h.Channel); r.begun == nil {
		return nil
	}
	return r.begun.Begin(h)
}

// End implements transport.Receiver. If the link has the whole payload in its own memory,
// Begin was not called before.
func (r *receiver) End(h *transport.Header, payload []byte) {
	to := r.begun
	if r.begun = nil; to == nil {
		to = r.to(h.Channel)
	}
	if to != nil {
		to.End(h, payload)
	}
}

// Torn implements transport.Receiver.
func (r *receiver) Torn(h *transport.Header, n int) {
	to := r.begun
	if r.begun = nil; to != nil {
		to.Torn(h, n)
	}
}

// Lost implements transport.Receiver.
func (r *receiver) Lost(h *transport.Header) {
	if h.Channel == transport.ChannelSection { // no other frame is droppable
		r.updates.Lost(h)
	}
}

// Closed implements transport.Receiver.
func (r *receiver) Closed(err error) {
	r.deaths.linkClosed(r.from, r.incarnation)
	if err != nil && !errors.Is(err, transport.ErrClosed) {
		r.node.head.Suspect(job.Endpoint{Process: r.from, Incarnation: r.incarnation}, err)
	}
}
