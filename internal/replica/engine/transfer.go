package engine

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/transport"
)

// A state is sent in chunks over the links, in a channel of its own. A first frame
// announces it, and the chunks follow in any order. A last frame carries the position and
// the manifest, against which the chunks are checked.

// transferKind is the purpose of a state transfer.
type transferKind uint8

const (
	transferJoin   transferKind = 1 + iota // to a joiner: the state of its rank
	transferBackup                         // to a holder of a backup
	transferBack                           // to a process that rolls back: the state of its rank
)

// These are the kinds of frames of transport.ChannelRecovery.
const (
	frameBegin uint8 = 1 + iota
	frameChunk
	frameEnd
)

// transferID identifies a state transfer. Every frame carries it. For the state of a
// joiner, the number and the generation are known only in the last frame.
type transferID struct {
	kind       transferKind
	stream     uint32 // number of the transfer; several transfers may be in progress to one process
	generation uint32
	rank       int
	number     uint64 // safe point of the cut
	full       uint64 // the last backup that the sender knows to be complete
}

func (l transferID) header(kind uint8, key checkpoint.Key) transport.Header {
	return transport.Header{Channel: transport.ChannelRecovery, Kind: kind, Flags: uint16(l.kind),
		Args: [6]uint64{uint64(l.stream)<<32 | uint64(l.rank), uint64(l.generation), l.number, l.full, uint64(key.Var), uint64(key.Index)}}
}

func transferIDOf(h *transport.Header) transferID {
	return transferID{kind: transferKind(h.Flags), stream: uint32(h.Args[0] >> 32), rank: int(h.Args[0] & 0x7fffffff), generation: uint32(h.Args[1]), number: h.Args[2], full: h.Args[3]}
}

// stateCopy is the state of a rank at a cut.
type stateCopy struct {
	image *checkpoint.Image
	at    []byte        // encoded position
	use   *atomic.Int32 // number of links that are sending it
}

func newUse() *atomic.Int32 { return new(atomic.Int32) }

// memory returns the image for reuse, nil if a link may still read it.
func (s stateCopy) memory() *checkpoint.Image {
	if s.image == nil || s.use.Load() > 0 {
		return nil
	}
	return s.image
}

// outbound is a state that is being sent to one process.
type outbound struct {
	id     transferID
	link   transport.Link
	sent   checkpoint.Sent
	began  bool
	moving atomic.Int64  // number of frames that the link holds, plus 1 while more frames will follow
	use    *atomic.Int32 // use of the copy that is sent; nil: the frames refer to the program's memory
	poller *transport.Poller
	left   func() // called when no link refers to any part of the state any more; may be nil
}

// send passes a frame to the link. The payload must not change until moving is zero.
func (o *outbound) send(kind uint8, key checkpoint.Key, payload ...[]byte) {
	o.moving.Add(1)
	o.link.Send(&transport.Frame{Header: o.id.header(kind, key), Payload: payload, Owner: o})
}

// Sent implements transport.Owner.
func (o *outbound) Sent(*transport.Frame, error) { o.done() }

func (o *outbound) done() {
	if o.moving.Add(-1) > 0 {
		return
	}
	if o.use != nil {
		o.use.Add(-1)
	}
	if o.left != nil {
		o.left()
	}
	o.poller.Wake()
}

// begin sends the frame that announces about that many bytes, unless it was already sent.
func (o *outbound) begin(bytes int) {
	if !o.began {
		o.began = true
		o.send(frameBegin, checkpoint.Key{}, binary.LittleEndian.AppendUint64(nil, uint64(bytes)))
	}
}

// all sends the parts of im that were not sent before, and the last frame. half, if set,
// is called in the middle.
func (o *outbound) all(im *checkpoint.Image, at []byte, half func()) {
	o.moving.Add(1)
	defer o.done()
	bytes, passed := im.Bytes(), 0
	o.begin(bytes)
	for k, c := range o.sent.Changed(im) {
		o.send(frameChunk, k, c)
		if before := passed; half != nil && before < bytes/2 && before+len(c) >= bytes/2 {
			half()
			half = nil
		}
		passed += len(c)
	}
	if half != nil {
		half()
	}
	manifest := o.sent.Manifest(im).Append(nil)
	size := binary.LittleEndian.AppendUint32(nil, uint32(len(manifest)))
	o.send(frameEnd, checkpoint.Key{}, size, manifest, at)
}
