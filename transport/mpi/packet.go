//go:build mpi && linux

package mpi

import (
	"encoding/binary"

	"github.com/intrahpc/intra/transport"
)

// packetSize bounds a packet: a small frame, or the announcement of a large one.
const packetSize = 16 << 10

// smallest is the initial size of a packet's memory.
const smallest = 1 << 10

// The kinds of packets. They take the place of the channel in the header of a small frame.
const (
	packetLarge = 0x80 // combined with the channel by or: a header, and the sizes of the pieces that follow
	packetWhole = 0xf1 // the large frame is complete
	packetGone  = 0xf2 // the sender has closed the link
	packetBye   = 0xf3 // the sender sends nothing more
	packetProbe = 0xf4 // it only has to arrive
)

// maxPiece is the maximum length of a message in bytes. MPI counts them in a C int.
const maxPiece = 1 << 30

// maxPieces is the maximum number of pieces in an announcement.
const maxPieces = (packetSize - transport.HeaderSize) / 8

// piece is a message with a part of a large frame's payload.
type piece struct {
	data []byte
	req  request
}

// cut divides a payload into messages of at most maxPiece bytes, none of which crosses
// offset half. It copies a payload that has many small parts into one. first is the number
// of pieces before half.
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

// announce writes the packet that announces the pieces.
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

// announced returns the announced pieces, each with its part of memory. It
// returns nil if they do not add up to the size of memory.
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
