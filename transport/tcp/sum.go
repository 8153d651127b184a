package tcp

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"github.com/zeebo/xxh3"

	"github.com/intrahpc/intra/transport"
)

// Frames of a link with Options.Sums carry checksums. The checksum of a header, or of a
// message of the link itself, lies in bytes that sizes and counts do not use. The checksum
// of a payload follows the payload. A damaged frame breaks the connection, and is sent
// again over the next.

// errDamaged marks bytes that differ from the bytes that were sent.
var errDamaged = errors.New("a frame was damaged on its way")

// sumSize is the length of the checksum of a payload.
const sumSize = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// The checksum of a header has three bytes: a size is below 2^40, as
// transport.MaxPayload is, and so are counts of frames.
const headSumAt, headSumEnd = 13, 16

func headSum(b *[transport.HeaderSize]byte) (sum [headSumEnd - headSumAt]byte) {
	crc := crc32.Update(crc32.Update(0, castagnoli, b[:headSumAt]), castagnoli, b[headSumEnd:])
	return [...]byte{byte(crc), byte(crc >> 8), byte(crc >> 16)}
}

// seal writes the checksum of a header into the header.
func seal(b *[transport.HeaderSize]byte) {
	sum := headSum(b)
	copy(b[headSumAt:], sum[:])
}

// unseal removes the checksum from a header, and reports whether it was right.
func unseal(b *[transport.HeaderSize]byte) bool {
	sum := headSum(b)
	ok := [headSumEnd - headSumAt]byte(b[headSumAt:headSumEnd]) == sum
	clear(b[headSumAt:headSumEnd])
	return ok
}

// payloadSum returns the checksum of a payload.
func payloadSum(pieces ...[]byte) (sum [sumSize]byte) {
	var h uint64
	if len(pieces) == 1 {
		h = xxh3.Hash(pieces[0])
	} else {
		d := xxh3.New()
		for _, p := range pieces {
			_, _ = d.Write(p)
		}
		h = d.Sum64()
	}
	binary.LittleEndian.PutUint64(sum[:], h)
	return sum
}

// trailer returns how many bytes follow a payload of that size.
func (l *link) trailer(size uint64) int {
	if !l.sums || size == 0 {
		return 0
	}
	return sumSize
}
