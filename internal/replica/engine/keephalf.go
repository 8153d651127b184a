package engine

import (
	"encoding/binary"
	"fmt"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/replica/kept"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// halfTransfer sends the memory of images to the sibling, and receives its memory. Frames
// before a Half carry that memory in chunks. Few of them are under way at a time, because the
// program waits for other frames, which a link delivers in order. Two goroutines may flush
// frames in any order, so a Half leaves when its chunks have arrived.
type halfTransfer struct {
	out      []*transport.Frame // chunks and Halves that are sent when earlier chunks have arrived
	underway int                // number of chunks that have not arrived
	in       map[uint64][]byte  // the chunks that have arrived, by settled point
	spare    []byte             // memory of earlier chunks: it is large, and already mapped
}

// These kinds of frames follow those of package kept.
const (
	chunk        = int(kept.Passed) + 1 + iota // a part of the memory for the next Half
	chunkArrived                               // the answer to a chunk
)

const (
	// chunkBytes is the usual size of a chunk. It takes half a millisecond at 1 Gbit/s.
	chunkBytes = 64 << 10
	// mostChunks bounds the number of chunks of a Half. A larger one has larger chunks.
	mostChunks = 512
	// chunksUnderway keeps the link busy while the answer to a chunk is under way.
	chunksUnderway = 2
)

// sendHalf sends a Half: parts of an image, and a proposal.
func (k *keeper) sendHalf(a *kept.Action) {
	s, total, at := k.points[a.Point], uint64(0), uint64(0)
	for _, part := range a.Parts {
		total += part.Hi - part.Lo
	}
	size := max(chunkBytes, int(total/mostChunks))
	for _, part := range a.Parts {
		for mem := range s.image.Part(part.Variable, part.Lo, part.Hi) {
			for len(mem) > 0 {
				n := min(size, len(mem))
				f := k.outFrame(update.Message{Kind: update.KindKept, Task: chunk, Section: a.Point, Signature: at, Deaths: total})
				f.Owner.(*outFrame).use = s.use
				s.use.Add(1)
				k.carry(f, mem[:n])
				k.half.out = append(k.half.out, f)
				mem, at = mem[n:], at+uint64(n)
			}
		}
	}
	last := k.frame(a.Frame)
	k.carry(last, encodeProposal(&a.Frame.Proposal))
	k.half.out = append(k.half.out, last)
	k.continueHalf()
}

// continueHalf sends as many frames as may be under way.
func (k *keeper) continueHalf() {
	for len(k.half.out) > 0 && k.half.underway < chunksUnderway {
		f := k.half.out[0]
		switch {
		case int(f.Header.Args[1]) == chunk:
			k.half.underway++
		case k.half.underway > 0:
			return
		}
		k.half.out = k.half.out[1:]
		k.out = append(k.out, f)
	}
}

// chunkArrives handles a chunk, and answers it.
func (k *keeper) chunkArrives(m update.Message, payload []byte) error {
	h, at, total := &k.half, m.Signature, m.Deaths
	mem, ok := h.in[m.Section]
	if !ok {
		if mem, h.spare = h.spare, nil; uint64(cap(mem)) < total {
			mem = make([]byte, total)
		}
		if h.in == nil {
			h.in = make(map[uint64][]byte)
		}
		mem = mem[:total]
		h.in[m.Section] = mem
	}
	if n := uint64(len(mem)); n != total || at > n || uint64(len(payload)) > n-at {
		return fmt.Errorf("%w: %d bytes at %d of an image, and not %d", errKept, len(payload), at, n)
	}
	copy(mem[at:], payload)
	k.staged.put(&buffer{mem: payload})
	k.out = append(k.out, k.outFrame(update.Message{Kind: update.KindKept, Task: chunkArrived, Section: m.Section}))
	return nil
}

func encodeProposal(p *kept.Proposal) []byte {
	b := binary.LittleEndian.AppendUint64(nil, p.Speed)
	b = binary.LittleEndian.AppendUint64(b, p.Points)
	for _, t := range p.Types {
		b = binary.LittleEndian.AppendUint64(b, t)
	}
	return b
}

func parseProposal(b []byte) (p kept.Proposal, err error) {
	if len(b) < 16 || len(b)%8 != 0 {
		return p, fmt.Errorf("%w: %d bytes of a proposal", errKept, len(b))
	}
	p.Speed, p.Points = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	for b = b[16:]; len(b) > 0; b = b[8:] {
		p.Types = append(p.Types, binary.LittleEndian.Uint64(b))
	}
	return p, nil
}

// fill copies a payload into parts of an image.
func fill(im *checkpoint.Image, parts []kept.Part, payload []byte) error {
	n := uint64(0)
	for _, p := range parts {
		n += p.Hi - p.Lo
	}
	if uint64(len(payload)) != n {
		return fmt.Errorf("%w: %d bytes of an image for %d", errKept, len(payload), n)
	}
	for _, p := range parts {
		for mem := range im.Part(p.Variable, p.Lo, p.Hi) {
			payload = payload[copy(mem, payload):]
		}
	}
	return nil
}
