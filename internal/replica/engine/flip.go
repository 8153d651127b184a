package engine

import (
	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// flipMessage flips bits of a message that is being sent, if that was requested. The
// caller holds the lock of the messages, which Snapshot does not take.
func (h *sharing) flipMessage(payload []byte) []byte {
	sent, err := h.flips.Sent(payload)
	switch {
	case err != nil:
		h.broken(err)
	case &sent[0] != &payload[0]:
		h.head.Tell(h.Snapshot)
	}
	return sent
}

// flip flips bits of the results of a task, if that was requested. It is called after
// the body, without the lock.
func (h *sharing) flip(s *Section, t int) {
	if h.flips == nil {
		return
	}
	flipped, err := h.flips.Ran(s.regions(t))
	if err != nil {
		h.broken(err)
	}
	if !flipped {
		return
	}
	h.erred()
}

// flipUpdate flips bits of a received update, if that was requested. It is called without
// the lock. The head receives the report of the flip before the flip can have any effect.
func (r *updateReceiver) flipUpdate(h *transport.Header, payload []byte) []byte {
	if r.flips == nil || len(payload) == 0 {
		return payload
	}
	m, err := update.ParseMessage(h)
	r.mu.Lock()
	counts := err == nil && m.Kind == update.KindUpdate && r.incarnations[r.from] == h.Incarnation
	r.mu.Unlock()
	if !counts {
		return payload
	}
	came, flipped, err := r.flips.Came(payload, r.buf != nil || r.place == section.Into)
	if err != nil {
		r.mu.Lock()
		r.fail(err)
		r.mu.Unlock()
	}
	if flipped {
		r.erred()
	}
	return came
}

// erred records that data was changed in this process on request.
func (h *sharing) erred() {
	h.mu.Lock()
	if v := h.verifier; v != nil && v.erred == 0 {
		v.erred = h.now()
	}
	h.mu.Unlock()
	h.head.Tell(h.Snapshot) // report now, because this process may be killed for the fault
}
