//go:build mpi && linux

package mpi

import (
	"encoding/binary"

	"github.com/intrahpc/intra/transport"
)

// packetSize bounds a packet: a small frame, or what is said about a large one.
const packetSize = 16 << 10

// smallest is the size of a packet's memory until a larger one is needed.
const smallest = 1 << 10

// What a packet is, in the place of the channel of a small frame's header.
const (
	packetLarge = 0x80 // and the channel: a header, and the sizes of the pieces that follow
	packetWhole = 0xf1 // the large frame is complete
	packetGone  = 0xf2 // the sender closed the link
	packetBye   = 0xf3 // nothing more comes
)

// maxPiece bounds a message: its length is an int.
const maxPiece = 1 << 30

// maxPieces is how many pieces a packet can announce.
const maxPieces = (packetSize - transport.HeaderSize) / 8

// piece is a message with a part of a large frame's payload.
type piece struct {
	data []byte
	req  request
}

// cut divides a payload into messages that neither are too long nor cross half.
// A payload in many small parts is copied into one.
func cut(payload [][]byte, size, half uint64) (pieces []piece, first int) {
	if len(payload) > maxPieces/2 || size/uint64(max(len(payload), 1)) < smallest {
		whole := make([]byte, size)
		transport.Gather(whole, payload, 0)
		payload = [][]byte{whole}
	}
	at := uint64(0)
	for _, p := range payload {
		for len(p) > 0 {
			n := min(len(p), maxPiece)
			if at < half {
				n = int(min(uint64(n), half-at))
			}
			pieces = append(pieces, piece{data: p[:n:n]})
			if at += uint64(n); at <= half {
				first = len(pieces)
			}
			p = p[n:]
		}
	}
	return pieces, first
}

// announce writes the packet that says which pieces follow.
func announce(b []byte, h *transport.Header, pieces []piece) []byte {
	h.Encode((*[transport.HeaderSize]byte)(b))
	b[0] |= packetLarge
	n := transport.HeaderSize
	for i := range pieces {
		binary.LittleEndian.PutUint64(b[n:], uint64(len(pieces[i].data)))
		n += 8
	}
	return b[:n]
}

// announced returns the pieces that a packet announces, with their places in
// memory, or nil if they are not those of a frame of size bytes.
func announced(sizes, memory []byte) []piece {
	var pieces []piece
	for left := len(memory); left > 0; sizes = sizes[8:] {
		if len(sizes) < 8 {
			return nil
		}
		n := binary.LittleEndian.Uint64(sizes)
		if n == 0 || n > uint64(min(left, maxPiece)) {
			return nil
		}
		at := len(memory) - left
		pieces = append(pieces, piece{data: memory[at : at+int(n)]})
		left -= int(n)
	}
	return pieces
}
