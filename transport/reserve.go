package transport

// Reserver is a Link that can lend room in the memory its peer reads, so that
// a payload is computed where it is sent from. Not every link can; a wrapper
// that delays frames, for one, does not.
type Reserver interface {
	// Reserve lends room for the payload of the next frame, of size bytes,
	// at an address that is a multiple of 64. It returns nil if there is
	// none at the moment: the frame then goes the way of all others. Until
	// Commit or Cancel, which the same goroutine calls soon, nothing else
	// is sent. The memory is for writing only: the peer could change it.
	Reserve(size int) []byte
	// Commit sends f, whose payload has been written to the room lent; the
	// pieces of f.Payload are that payload's other copy, and are not read.
	Commit(f *Frame)
	// Cancel gives the room back; the peer sees nothing of it.
	Cancel()
}
