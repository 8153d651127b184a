package sdr

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/intrahpc/intra/transport"
)

const (
	maxTag    = 1 << 30
	maxEager  = 1 << 20 // size of the largest message that a process sends without a request
	frameCost = 128     // bytes that a message counts in addition to its payload
)

// MaxPurpose bounds the purpose that messages of an exact context carry.
const MaxPurpose = 1<<62 - 1

// Kinds of frames on transport.ChannelMessage. Args[0] is the context and
// Args[1] the number of the message in its stream, unless stated otherwise;
// Args[5] is the cut that the sender has passed last.
const (
	// kindEager is a message with its payload. Args[2] is the tag. Args[3] is the base of
	// the causal history. The lower half of Args[4] is the length of the history's list,
	// which follows the payload; the upper half is the own entry, see past.word.
	kindEager uint8 = 1 + iota
	// kindOffer announces a message of Args[3] bytes; Args[2] is the tag. Its payload is
	// the causal history, base and list, with the length in Args[4]. The receiver requests
	// the payload when a receive is bound to the message. If flagComes is set, it requests
	// the payload only if the sender has no room left at the receiver.
	kindOffer
	// kindGrant asks the sender of an offer for the payload.
	kindGrant
	// kindData is the payload of a granted message.
	kindData
	// kindAck reports to a replica of the sender which messages have been received. These
	// are all numbers below Args[1], the bits of Args[2] from number Args[1]&^63 on, and
	// the bits of the words in the payload, which continue those of Args[2]. Behind these
	// words the payload has Args[3] reports. Each consists of the number and the hash of a
	// message, and the replica that sent the frame.
	kindAck
	// kindWant reports in Args[0] whether the sender waits for acknowledgements (1) or not
	// (0). While it waits, it gets them at once.
	kindWant
	// kindCredit returns Args[0] bytes of the receiver's room for eager
	// messages to the sender.
	kindCredit
	// kindArrived asks whether all Args[1] payloads and hashes before it have arrived
	// (Args[0] is 0), or confirms that (Args[0] is 1). Args[2] is the kind of the
	// confirmation.
	kindArrived
	// kindAsk asks a process to report when its program has finished. If Args[2] is 0, the
	// answer is the number of messages that it has sent to the asking process in the
	// context. If Args[2] is 1, the answer is that the message with this number will never
	// be received.
	kindAsk
	// kindFinished answers a kindAsk. Depending on Args[2], Args[1] is the number of
	// messages, or the number of the message that will never be received.
	kindFinished
	// kindDecision carries a decision of the leader of the rank to its siblings. Args[3] is
	// its kind, Args[1] its number in the context, and Args[2] its number among the
	// decisions of the leader. The payload is its value. A decision on a receive may carry
	// several values: those after the first are decisions made ahead, for the next receives
	// of the run in Args[4].
	kindDecision
	// kindHolds acknowledges to all siblings the decisions of replica Args[2] with numbers below
	// Args[1].
	kindHolds
)

// flagExact marks the frames of a context whose receives select a message by its number,
// which is a context of collectives.
const flagExact uint16 = 1

// flagComes marks the offer of a message for which the sender had no room at the receiver.
// The sender sends the payload without a request when it gets room.
const flagComes uint16 = 2

// flagServed marks an acknowledgement to the replica that serves its sender, as far as the
// sender knows. That replica gets no more hashes from it before the next cut.
const flagServed uint16 = 4

// flagCompared marks a message, or its offer, that the replicas of its sender compare.
const flagCompared uint16 = 8

// ackAll as Args[1] of kindAck means that the context is closed at the receiver: all
// earlier and later messages in it count as received.
const ackAll = ^uint64(0)

// ErrProtocol marks a frame that no process of this build sends.
var ErrProtocol = errors.New("malformed message frame")

// checkHeader rejects headers that no process sends. It inspects only the header, so that
// links can be asked for memory afterwards.
func checkHeader(h *transport.Header) error {
	switch h.Kind {
	case kindEager:
		if h.Args[2] > tagLimit(h.Flags&flagExact != 0) || h.Size > maxEager+pastBytes(h) || pastBytes(h) > h.Size {
			return fmt.Errorf("%w: message with tag %d and %d bytes", ErrProtocol, h.Args[2], h.Size)
		}
	case kindOffer:
		if h.Args[2] > tagLimit(h.Flags&flagExact != 0) || h.Args[3] > transport.MaxPayload || h.Size != pastBytes(h) {
			return fmt.Errorf("%w: offer with tag %d of %d bytes", ErrProtocol, h.Args[2], h.Args[3])
		}
	case kindDecision:
		if h.Size == 0 || h.Size > decisionBytes {
			return fmt.Errorf("%w: decision of %d bytes", ErrProtocol, h.Size)
		}
	case kindGrant, kindWant, kindCredit, kindArrived, kindAsk, kindFinished, kindHolds:
		if h.Size != 0 {
			return fmt.Errorf("%w: %d bytes of payload with kind %d", ErrProtocol, h.Size, h.Kind)
		}
	case kindData:
	case kindAck:
		if h.Size%8 != 0 || h.Size > maxAhead/8 {
			return fmt.Errorf("%w: acknowledgement with %d bytes", ErrProtocol, h.Size)
		}
	default:
		return fmt.Errorf("%w: kind %d", ErrProtocol, h.Kind)
	}
	return nil
}

// tagLimit returns the largest tag of messages in contexts of one kind. In exact ones the
// tag is the purpose of the message.
func tagLimit(exact bool) uint64 {
	if exact {
		return MaxPurpose
	}
	return maxTag
}

// encodeAck fills in the set that an acknowledgement carries.
func encodeAck(h *transport.Header, s *numbers) (payload []byte) {
	h.Args[1] = s.low
	words := s.beyond()
	if len(words) == 0 {
		return nil
	}
	h.Args[2] = words[0]
	for _, w := range words[1:] {
		payload = binary.LittleEndian.AppendUint64(payload, w)
	}
	return payload
}

// decodeAck adds the numbers that an acknowledgement carries to s.
func decodeAck(h *transport.Header, payload []byte, s *numbers) {
	low := h.Args[1]
	if low == ackAll {
		s.merge(low, 0, nil)
		return
	}
	s.merge(low, low&^63, h.Args[2:3])
	var word [1]uint64
	for i := 0; i+8 <= len(payload); i += 8 {
		word[0] = binary.LittleEndian.Uint64(payload[i:])
		s.merge(low, low&^63+64+8*uint64(i), word[:])
	}
}
