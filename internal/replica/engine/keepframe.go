package engine

import (
	"encoding/binary"
	"errors"
	"fmt"

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
		var payload []byte
		if a.Frame.Kind == kept.Half {
			payload = k.half(a)
		} else {
			payload = k.copied(a.Mem)
		}
		k.out = append(k.out, k.frame(a.Frame, payload))
	case kept.Hold:
		k.held = append(k.held, k.frame(a.Frame, k.copied(a.Mem)))
	case kept.SendHeld:
		k.out = append(k.out, k.held[0])
		k.held = k.held[1:]
	case kept.DropHeld:
		k.held = nil
	case kept.Apply:
		return k.apply(a.Mem, a.Token.([]byte))
	case kept.Copy:
		return k.copyImage(a.Point)
	case kept.Fill:
		return fill(k.points[a.Point].image, a.Parts, a.Token.([]byte))
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

// copied returns a copy of the memory of spans.
func (k *keeper) copied(spans []kept.Span) []byte {
	n := uint64(0)
	for _, s := range spans {
		n += s.Hi - s.Lo
	}
	payload := make([]byte, 0, n)
	for _, s := range spans {
		k.memory(s, func(mem []byte) { payload = append(payload, mem...) })
	}
	return payload
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

// half returns the payload of a Half: the proposal, and parts of an image.
func (k *keeper) half(a *kept.Action) []byte {
	p := &a.Frame.Proposal
	b := binary.LittleEndian.AppendUint64(nil, p.Speed)
	b = binary.LittleEndian.AppendUint64(b, p.Points)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(p.Types)))
	for _, t := range p.Types {
		b = binary.LittleEndian.AppendUint64(b, t)
	}
	im := k.points[a.Point].image
	for _, part := range a.Parts {
		for mem := range im.Part(part.Variable, part.Lo, part.Hi) {
			b = append(b, mem...)
		}
	}
	return b
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

// frame makes a frame for the sibling. The memory in it counts as an update, for kill points
// and statistics.
func (k *keeper) frame(f kept.Frame, payload []byte) *transport.Frame {
	out := k.outFrame(update.Message{Kind: update.KindKept, Task: int(f.Kind), Section: f.Number, Signature: f.Signature, Deaths: f.Bytes})
	if f.Kind == kept.Applied || f.Kind == kept.Passed {
		return out
	}
	out.Payload = append(out.Payload[:0], payload)
	out.Mid = k.faults.Mid(job.KillUpdate)
	k.stats.total.UpdateBytes += int64(len(payload))
	return out
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
	switch {
	case k == nil || m.Task > int(kept.Passed):
		return fmt.Errorf("%w: kind %d", errKept, m.Task)
	case f.Kind == kept.Half:
		var err error
		if f.Proposal, payload, err = parseHalf(payload); err != nil {
			return err
		}
	case (f.Kind == kept.Pieces || f.Kind == kept.Whole) && f.Bytes != uint64(len(payload)):
		return fmt.Errorf("%w: %d bytes, and not %d", errKept, len(payload), f.Bytes)
	}
	k.received = k.now()
	k.machine.Arrive(f, payload)
	k.perform()
	return nil
}
