package engine

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/intrahpc/intra/internal/replica/verify"
	"github.com/intrahpc/intra/update"
)

// watchKinds is the number of kinds of places. A message of verify.Watch is sent as a
// frame. Its section is the number of the place, and its task encodes the kinds of the
// message and of the place.
const watchKinds = 2

var errWatch = errors.New("malformed word about hashes")

// watchMessage returns the frame and the payload of a message.
func watchMessage(w *verify.WatchWord) (update.Message, []byte) {
	m := update.Message{Kind: update.KindWatch, Section: w.Place.Number, Task: int(w.Kind)*watchKinds + int(w.Place.Kind), Tasks: w.Item, Next: w.Block}
	var numbers []uint64
	switch w.Kind {
	case verify.WatchBlock:
		return m, append([]byte(nil), w.Bytes...)
	case verify.WatchHashes:
		numbers = w.Hashes
	case verify.WatchStop:
		f := w.Found
		lengths := uint64(0)
		if f.Lengths {
			lengths = 1
		}
		numbers = []uint64{uint64(f.Place.Kind), f.Place.Number, uint64(f.A), uint64(f.B), uint64(f.Index), lengths, f.Hashes[0], f.Hashes[1]}
	case verify.WatchTable:
		for _, row := range w.Table {
			numbers = append(append(numbers, uint64(len(row))), row...)
		}
	}
	b := make([]byte, 0, 8*len(numbers))
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return m, b
}

// parseWatch decodes a frame and payload that watchMessage has encoded.
func parseWatch(m update.Message, payload []byte) (*verify.WatchWord, error) {
	w := &verify.WatchWord{Kind: verify.WatchKind(m.Task / watchKinds), Place: verify.Place{Kind: verify.PlaceKind(m.Task % watchKinds), Number: m.Section},
		Item: m.Tasks, Block: m.Next}
	ok := m.Task/watchKinds <= int(verify.WatchOver)
	if ok && w.Kind == verify.WatchBlock {
		w.Bytes = append([]byte(nil), payload...)
		return w, nil
	}
	ok = ok && len(payload)%8 == 0
	n := make([]uint64, 0, len(payload)/8)
	for b := payload; len(b) >= 8; b = b[8:] {
		n = append(n, binary.LittleEndian.Uint64(b))
	}
	switch w.Kind {
	case verify.WatchHashes:
		w.Hashes = n
		ok = ok && w.Place.Number > 0
	case verify.WatchStop:
		if ok = ok && len(n) == 8 && n[0] < watchKinds && n[2] < maxReplicas && n[3] < maxReplicas && n[4] <= mostHashes && w.Place.Number > 0; ok {
			w.Found = &verify.Difference{Place: verify.Place{Kind: verify.PlaceKind(n[0]), Number: n[1]}, A: int(n[2]), B: int(n[3]), Index: int(n[4]), Lengths: n[5] > 0, Hashes: [2]uint64{n[6], n[7]}}
		}
	case verify.WatchTable:
		w.Table = verify.Table{}
		for ok && len(n) > 0 {
			size := n[0]
			if n = n[1:]; size == 0 || size > uint64(len(n)) {
				ok = false
				break
			}
			w.Table, n = append(w.Table, n[:size]), n[size:]
		}
	default:
		ok = ok && len(n) == 0
	}
	if !ok {
		return nil, fmt.Errorf("%w: kind %d with %d bytes", errWatch, m.Task, len(payload))
	}
	return w, nil
}

// maxReplicas is more than the largest number of replicas of a rank.
const maxReplicas = 1 << 20
