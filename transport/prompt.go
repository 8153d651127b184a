package transport

// Prompt is a Link that can hand over a frame within a call, as long as
// nothing is queued before it and the peer has room. Not every link can.
type Prompt interface {
	// SendNow hands over a frame with this header, of which it sets the size,
	// and a payload in two pieces, if that can be done at once: it waits for
	// nobody and calls nobody back, so that its caller may hold locks. It reports
	// whether it has; if not, nothing has happened, and the frame can go by Send.
	SendNow(h *Header, payload, rest []byte) bool
}
