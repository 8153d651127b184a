package transport

// Prompt is a Link that can hand over a frame within a call, if no frame is
// queued before it and the peer has room. Not every link can.
type Prompt interface {
	// SendNow hands over a frame with this header, whose Size it sets, and a payload in two
	// pieces, if that is possible at once. It never blocks and makes no callbacks, so its
	// caller may hold locks. If it returns false it has sent nothing, and the caller can
	// use Send.
	SendNow(h *Header, payload, rest []byte) bool
}
