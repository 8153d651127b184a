package transport

// Prompt is a Link that can hand over a frame within a call, if no frame is
// queued before it and the peer has room. Not every link can.
type Prompt interface {
	// SendNow hands over a frame with this header, whose Size it sets, and a
	// payload in two pieces, if that is possible at once. It waits for nothing
	// and makes no callbacks, so its caller may hold locks. If it returns false
	// nothing has happened, and the frame can go by Send.
	SendNow(h *Header, payload, rest []byte) bool
}
