package engine

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

// erred notes that something was turned wrong here.
func (h *sharing) erred() {
	h.mu.Lock()
	if v := h.verifier; v != nil && v.erred == 0 {
		v.erred = h.now()
	}
	h.mu.Unlock()
	h.head.Tell(h.Snapshot) // before this process may be killed for that
}
