package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// HeaderSize is the encoded size of a Header in bytes, one cache line.
const HeaderSize = 64

// MaxPayload bounds Header.Size. A larger value in a received header can only be
// corruption, and must not make the receiver allocate.
const MaxPayload = 1 << 40

// Channel identifies the layer that a frame belongs to.
type Channel uint8

const (
	// ChannelSection carries updates, claims and Once between the replicas
	// of one rank.
	ChannelSection Channel = 1 + iota
	// ChannelMessage carries the replicated messages between ranks and
	// their acknowledgements.
	ChannelMessage
	// ChannelRecovery carries the state of processes.
	ChannelRecovery
)

// Header is the fixed part of every frame. The layer that owns the channel
// defines Kind, Flags and Args; a link uses Size only.
type Header struct {
	Channel     Channel
	Kind        uint8
	Flags       uint16
	Incarnation uint32    // incarnation of the sending process
	Size        uint64    // payload bytes that follow
	Args        [6]uint64 // the layer's own fields
}

// ErrHeader marks bytes that are not a frame header.
var ErrHeader = errors.New("malformed frame header")

// Encode writes h in its wire form, little-endian on every machine.
func (h *Header) Encode(b *[HeaderSize]byte) {
	binary.LittleEndian.PutUint64(b[:], h.EncodeRest(b))
}

// EncodeRest writes h except its first 8 bytes, and returns these as a
// little-endian number. The number is not 0: a sender that writes it last, where
// there was a 0 before, publishes the header as a whole.
func (h *Header) EncodeRest(b *[HeaderSize]byte) (first uint64) {
	binary.LittleEndian.PutUint64(b[8:], h.Size)
	for i := range h.Args {
		binary.LittleEndian.PutUint64(b[16+8*i:], h.Args[i])
	}
	return uint64(h.Channel) | uint64(h.Kind)<<8 | uint64(h.Flags)<<16 | uint64(h.Incarnation)<<32
}

// Decode decodes a header, and rejects one that no sender of this module writes.
func (h *Header) Decode(b *[HeaderSize]byte) error {
	return h.DecodeRest(binary.LittleEndian.Uint64(b[:]), b)
}

// DecodeRest is Decode of a header whose first 8 bytes are given as a
// little-endian number. It reads each of the other bytes once, and does not read
// the first ones.
func (h *Header) DecodeRest(first uint64, b *[HeaderSize]byte) error {
	h.Channel, h.Kind = Channel(first), uint8(first>>8)
	h.Flags, h.Incarnation = uint16(first>>16), uint32(first>>32)
	h.Size = binary.LittleEndian.Uint64(b[8:])
	for i := range h.Args {
		h.Args[i] = binary.LittleEndian.Uint64(b[16+8*i:])
	}
	if h.Channel < ChannelSection || h.Channel > ChannelRecovery {
		return fmt.Errorf("%w: channel %d", ErrHeader, h.Channel)
	}
	if h.Size > MaxPayload {
		return fmt.Errorf("%w: payload of %d bytes", ErrHeader, h.Size)
	}
	return nil
}
