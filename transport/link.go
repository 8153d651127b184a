package transport

import (
	"context"
	"errors"
)

// Errors that a link reports through Owner.Sent and Receiver.Closed.
var (
	// ErrClosed means that this side closed the link.
	ErrClosed = errors.New("link closed")
	// ErrPeerGone means that the other side ended, or was declared dead.
	ErrPeerGone = errors.New("peer gone")
	// ErrLost means that a droppable frame was lost with its connection. The peer
	// gets Receiver.Lost for it.
	ErrLost = errors.New("frame lost with a connection")
)

// Frame is one unit of transfer. From Send until Owner.Sent the link owns it and
// its payload.
type Frame struct {
	Header  Header   // Send sets Size
	Payload [][]byte // pieces, sent in order

	// Droppable means that the link need not keep the frame. A link that outlives
	// its connections keeps all other frames until they have arrived, and sends
	// them again, in order and each once. If it loses a droppable frame it
	// reports that to the receiver. Links that cannot lose frames ignore
	// Droppable.
	Droppable bool
	// Owner, if set, is called once when the frame has been handed over.
	Owner Owner
	// Mid, if set, is called once when the header and half of the payload have
	// been handed over. Without a payload it is called after the header, before
	// the peer can see the last byte. It is the kill point inside a transfer: if
	// it returns false, the link breaks there, as if this process died.
	Mid func() bool
}

// Owner gets back the memory of the frames that it sent.
type Owner interface {
	// Sent is called exactly once for each frame, from any goroutine, with no
	// lock of the link held. A nil error means that the frame was handed over in
	// full, not that the peer has received it. A link that may have to send the
	// frame again has made a copy, or has kept the frame until it arrived.
	Sent(f *Frame, err error)
}

// Link is an ordered, reliable path of frames between two processes. Its methods
// may be called by any goroutine at any time after Start.
type Link interface {
	// Start begins delivery to r. It is called once, before all other methods.
	Start(r Receiver)

	// Send queues f after all earlier frames. It never blocks and never calls the Receiver.
	// It may hand over frames at once, as far as the peer has room.
	Send(f *Frame)

	// Progress sends and delivers the frames that can be moved now, without blocking. It
	// reports whether anything moved. If several goroutines call it, one works and the
	// others return false.
	Progress() bool

	// Attend(true) promises that a goroutine calls Progress again and again until
	// Attend(false), so that the peer need not pay for waking this process. Calls nest.
	// Without attention the link moves frames by itself in both directions, with the delay
	// of a wake-up.
	//
	// A promise may be broken for a while without a deadlock. When the other side ends its
	// own attention, this link delivers at once what has been handed over, even if it is
	// attended. A link that is shut down, or whose peer has died, ends by itself.
	Attend(on bool)

	// PeerDied reports that the peer is certainly dead (declared and fenced). The
	// link delivers all that the peer had handed over, then calls Torn if the
	// last frame is incomplete, then Closed. It returns frames that were not
	// handed over with ErrPeerGone. PeerDied may be called before Start, and more
	// than once.
	PeerDied()

	// Shutdown hands over the queued frames, and reports to the peer that no more frames
	// follow. It delivers the frames that the peer still sends, until the peer has ended as
	// well or ctx is done. Then it closes the link.
	Shutdown(ctx context.Context) error

	// Close ends the link at once, and returns queued frames with ErrClosed. The
	// peer sees it as a death: Torn, then Closed. A link that outlives its
	// connections waits for the verdict, PeerDied, before that.
	Close() error
}

// Receiver receives the frames of a link. A link calls one method at a time, in order, from
// any goroutine. It holds none of its locks that Send needs, so a Receiver may send on any
// link. No method may block.
type Receiver interface {
	// Begin announces a frame whose header has arrived. The payload goes to the
	// returned memory, which has at least h.Size bytes; for nil the link provides
	// memory. Begin is not called for a frame without payload, nor when the whole
	// payload already is in the link's own memory.
	Begin(h *Header) []byte

	// End delivers a whole frame. payload has h.Size bytes. It is the memory that
	// Begin returned, or the link's own, which is valid during the call.
	End(h *Header, payload []byte)

	// Torn reports that the link ended inside the frame whose Begin was called, or that it
	// lost its connection inside a droppable frame. The link then reports a droppable frame
	// as Lost as soon as it has another connection. The first n bytes of the payload may
	// have been written.
	Torn(h *Header, n int)

	// Lost reports that the droppable frame with this header will not arrive. The link
	// calls Lost in place of End, at the same position in the order of frames. If Begin was
	// called for the frame, Torn was called, too.
	Lost(h *Header)

	// Closed reports that nothing more arrives. The error is nil after the peer's
	// Shutdown, ErrClosed after Close on this side, and otherwise wraps
	// ErrPeerGone. It is the last call.
	Closed(err error)
}
