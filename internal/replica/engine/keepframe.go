package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/kept"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// errKept marks a malformed frame of the sibling.
var errKept = errors.New("malformed frame with memory of the sibling")

// perform carries out the actions of the machine. The caller holds the lock.
func (k *keeper) perform() {
	for _, a := range k.machine.Actions() {
		if err := k.act(&a); err != nil {
			_ = k.broke(err)
		}
	}
	k.lacks.Store(k.machine.Lacks() || k.failure != nil)
}

func (k *keeper) act(a *kept.Action) error {
	switch a.Kind {
	case kept.Send:
		if a.Frame.Kind == kept.Half {
			k.out = append(k.out, k.half(a))
		} else {
			k.out = append(k.out, k.pieces(a))
		}
	case kept.Hold:
		k.held = append(k.held, k.pieces(a))
	case kept.SendHeld:
		k.out = append(k.out, k.held[0])
		k.held = k.held[1:]
	case kept.DropHeld:
		k.held = nil
	case kept.Apply:
		defer k.staged.put(&buffer{mem: a.Token.([]byte)})
		return k.apply(a.Mem, a.Token.([]byte))
	case kept.Copy:
		return k.copyImage(a.Point, a.Parts)
	case kept.Fill:
		h := a.Token.(arrivedHalf)
		k.halfMem = h.mem
		return fill(k.points[a.Point].image, a.Parts, h.parts)
	case kept.Discard:
		k.discard(a.Point)
	}
	return nil
}

// memory calls use with the memory of s, in one or several pieces.
func (k *keeper) memory(s kept.Span, use func(mem []byte)) {
	if mem, ok := k.partials[s.Lo]; ok && s == spanOf(mem) {
		use(mem)
		return
	}
	k.pins.in(s, use)
}

// pieces makes a frame with a copy of memory of the program, or a frame without payload.
func (k *keeper) pieces(a *kept.Action) *transport.Frame {
	f := k.frame(a.Frame)
	if len(a.Mem) == 0 {
		return f
	}
	p := f.Owner.(*outFrame)
	for _, s := range a.Mem {
		k.memory(s, func(mem []byte) { p.copied = append(p.copied, mem...) })
	}
	k.carry(f, p.copied)
	return f
}

// apply copies a payload into the memory of spans.
func (k *keeper) apply(spans []kept.Span, payload []byte) error {
	n := uint64(0)
	for _, s := range spans {
		n += s.Hi - s.Lo
	}
	if uint64(len(payload)) != n {
		return fmt.Errorf("%w: %d bytes for %d", errKept, len(payload), n)
	}
	for _, s := range spans {
		k.memory(s, func(mem []byte) { payload = payload[copy(mem, payload):] })
	}
	return nil
}

// half makes a Half. Its payload is the proposal, and memory of an image.
func (k *keeper) half(a *kept.Action) *transport.Frame {
	p := &a.Frame.Proposal
	b := binary.LittleEndian.AppendUint64(nil, p.Speed)
	b = binary.LittleEndian.AppendUint64(b, p.Points)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(p.Types)))
	for _, t := range p.Types {
		b = binary.LittleEndian.AppendUint64(b, t)
	}
	payload := [][]byte{b}
	s := k.points[a.Point]
	for _, part := range a.Parts {
		payload = slices.AppendSeq(payload, s.image.Part(part.Variable, part.Lo, part.Hi))
	}
	f := k.frame(a.Frame)
	f.Owner.(*outFrame).use = s.use
	s.use.Add(1)
	k.carry(f, payload...)
	return f
}

// arrivedHalf is the payload of a Half that has arrived.
type arrivedHalf struct {
	mem   []byte // all of it
	parts []byte // memory of the image
}

// parseHalf splits the payload of a Half.
func parseHalf(b []byte) (p kept.Proposal, rest []byte, err error) {
	if len(b) < 20 {
		return p, nil, fmt.Errorf("%w: %d bytes of an image", errKept, len(b))
	}
	p.Speed, p.Points = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	n := binary.LittleEndian.Uint32(b[16:])
	if b = b[20:]; uint64(len(b)) < 8*uint64(n) {
		return p, nil, fmt.Errorf("%w: %d types in %d bytes", errKept, n, len(b))
	}
	for range n {
		p.Types = append(p.Types, binary.LittleEndian.Uint64(b))
		b = b[8:]
	}
	return p, b, nil
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

// frame makes a frame for the sibling.
func (k *keeper) frame(f kept.Frame) *transport.Frame {
	return k.outFrame(update.Message{Kind: update.KindKept, Task: int(f.Kind), Section: f.Number, Signature: f.Signature, Deaths: f.Bytes})
}

// carry adds a payload to a frame. It counts as an update, for kill points and statistics.
func (k *keeper) carry(f *transport.Frame, payload ...[]byte) {
	f.Payload = append(f.Payload[:0], payload...)
	f.Mid = k.faults.Mid(job.KillUpdate)
	k.stats.total.UpdateBytes += int64(transport.Size(f.Payload))
}

// flush sends the waiting frames. The caller does not hold the lock. The frames of several
// callers may be sent in any order: each belongs to a place of the program.
func (k *keeper) flush() {
	if k == nil {
		return
	}
	k.mu.Lock()
	out, link := k.out, k.sibling()
	k.out = nil
	k.mu.Unlock()
	for _, f := range out {
		if link != nil {
			link.Send(f)
		}
	}
}

// sibling returns the link to the other replica, nil if it is dead.
func (k *keeper) sibling() transport.Link { return k.peers[1-k.setup.Self.Replica] }

// arrive handles a frame of the sibling, whose payload it keeps. The caller holds the lock.
func (k *keeper) arrive(m update.Message, payload []byte) error {
	f := kept.Frame{Kind: kept.FrameKind(m.Task), Number: m.Section, Signature: m.Signature, Bytes: m.Deaths}
	var token any = payload
	switch {
	case k == nil || m.Task > int(kept.Passed):
		return fmt.Errorf("%w: kind %d", errKept, m.Task)
	case f.Kind == kept.Half:
		h := arrivedHalf{mem: payload}
		var err error
		if f.Proposal, h.parts, err = parseHalf(payload); err != nil {
			return err
		}
		token = h
	case (f.Kind == kept.Pieces || f.Kind == kept.Whole) && f.Bytes != uint64(len(payload)):
		return fmt.Errorf("%w: %d bytes, and not %d", errKept, len(payload), f.Bytes)
	}
	k.machine.Arrive(f, token)
	k.perform()
	return nil
}

// buffer returns memory for the payload of a frame of the sibling. Halves are large, so their
// memory is used again and again: the memory of the last one is still mapped.
func (k *keeper) buffer(m update.Message, n int) *buffer {
	if m.Task != int(kept.Half) || cap(k.halfMem) < n {
		return k.staged.get(n)
	}
	b := &buffer{mem: k.halfMem[:n]}
	k.halfMem = nil
	return b
}
