package engine

import (
	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// flipMessage turns bits of a message that is sent, if that was requested.
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

// flip turns bits of what a task has written, if that was requested. It is called
// without the lock, after the body.
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

// flipUpdate turns bits of an update that has come, if that was requested. The lock is not
// held: the head hears of it before anything can come of it.
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

// erred notes that something was turned wrong here.
func (h *sharing) erred() {
	h.mu.Lock()
	if v := h.verifier; v != nil && v.erred == 0 {
		v.erred = h.now()
	}
	h.mu.Unlock()
	h.head.Tell(h.Snapshot) // before this process may be killed for that
}
