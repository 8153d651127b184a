package transport

import (
	"context"
	"errors"
)

// Errors that a link reports through Owner.Sent and Receiver.Closed.
var (
	// ErrClosed: this side closed the link.
	ErrClosed = errors.New("link closed")
	// ErrPeerGone: the other side ended, or was declared dead.
	ErrPeerGone = errors.New("peer gone")
	// ErrLost: a droppable frame was given up with the connection it was on. The
	// peer is told with Receiver.Lost.
	ErrLost = errors.New("frame lost with a connection")
)

// Frame is one unit of transfer. From Send until Owner.Sent it and its
// payload belong to the link.
type Frame struct {
	Header  Header   // Send sets Size
	Payload [][]byte // pieces, sent one after the other

	// Droppable says that the frame need not be kept. A link that outlives its
	// connections keeps the others until they have arrived, and sends them
	// again, in order and each once; of a droppable one it tells the receiver that
	// it is lost. Links that cannot lose anything do not look at it.
	Droppable bool
	// Owner, if set, is told once when the frame has been handed over.
	Owner Owner
	// Mid, if set, is called once when the header and half of the payload
	// have been handed over (after the header if there is no payload, and
	// before the last byte is visible to the peer). It is the kill point
	// inside a transfer: false breaks the link there, as the death of this
	// process would.
	Mid func() bool
}

// Owner learns when the memory of a frame it sent may be used again.
type Owner interface {
	// Sent is called exactly once for each frame, from any goroutine, with
	// no lock of the link held. A nil error says that the frame was handed
	// over in full, not that the peer has seen it: the link has a copy if it
	// may have to send the frame again, or has kept the frame until the peer
	// had it.
	Sent(f *Frame, err error)
}

// Link is an ordered, reliable path of frames between two processes. Its
// methods may be called by any goroutine at any time after Start.
type Link interface {
	// Start begins delivery to r. It is called once, before all else.
	Start(r Receiver)

	// Send queues f behind the frames queued before it. It never blocks and
	// never calls the Receiver; it may hand over at once what fits.
	Send(f *Frame)

	// Progress moves, without blocking, what can be moved now in both
	// directions, and delivers what has arrived. It reports whether
	// anything moved. When several goroutines call it, one works and the
	// others return false.
	Progress() bool

	// Attend(true) promises that somebody calls Progress again and again
	// until Attend(false), so that the peer need not pay for waking this
	// process. Calls nest. Without attention the link makes progress by
	// itself, in both directions, a wake-up later. A promise may be broken
	// for a while: when the other side gives up its own attention, what it
	// has handed over is looked at once, promise or not; and a link that is
	// shut down, or whose peer died, ends by itself.
	Attend(on bool)

	// PeerDied tells the link that the peer is dead for certain (declared
	// and fenced): what it had handed over is delivered to the end, then
	// Torn if its last frame is incomplete, then Closed. Frames not yet
	// handed over come back with ErrPeerGone. It may come before Start, and
	// more than once.
	PeerDied()

	// Shutdown hands over what is queued, tells the peer that nothing more
	// comes, and delivers what the peer still sends until its own end has
	// come or ctx is done; then the link is closed.
	Shutdown(ctx context.Context) error

	// Close ends the link at once; frames still queued come back with
	// ErrClosed. The peer sees it as a death: Torn, then Closed; a link that
	// outlives its connections waits for the verdict, PeerDied, first.
	Close() error
}

// Receiver takes what a link delivers. A link calls one method at a time, in
// order, from any goroutine, and holds none of its own locks that Send needs:
// a Receiver may send on any link. No method may block.
type Receiver interface {
	// Begin announces a frame whose header has arrived. The payload goes to
	// the memory returned, at least h.Size bytes long; nil leaves the place
	// to the link. It is not called for frames without a payload, nor when
	// the whole payload already lies in the link's own memory.
	Begin(h *Header) []byte

	// End delivers a whole frame. payload has h.Size bytes and is the
	// memory that Begin returned, or the link's own, valid during the call.
	End(h *Header, payload []byte)

	// Torn: the link ended inside the frame whose Begin was called, or has
	// lost the connection inside a droppable one, which then is Lost when there is
	// another connection; the first n bytes of its payload may have been
	// written.
	Torn(h *Header, n int)

	// Lost: the droppable frame with this header will not come. The call stands
	// where its End would have stood in the order of frames. If its Begin was
	// called, Torn was too.
	Lost(h *Header)

	// Closed: nothing more comes. The error is nil after the peer's
	// Shutdown, ErrClosed after our own Close, and wraps ErrPeerGone
	// otherwise. It is the last call.
	Closed(err error)
}
