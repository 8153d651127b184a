package engine

import (
	"errors"
	"fmt"

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
			k.sendHalf(a)
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
		k.half.spare = a.Token.([]byte)
		return fill(k.points[a.Point].image, a.Parts, k.half.spare)
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
	switch {
	case k == nil || m.Task > chunkArrived:
		return fmt.Errorf("%w: kind %d", errKept, m.Task)
	case m.Task == chunk:
		return k.chunkArrives(m, payload)
	case m.Task == chunkArrived:
		k.half.underway--
		k.continueHalf()
		return nil
	case f.Kind == kept.Half:
		var err error
		if f.Proposal, err = parseProposal(payload); err != nil {
			return err
		}
		payload = k.half.in[m.Section]
		delete(k.half.in, m.Section)
	case (f.Kind == kept.Pieces || f.Kind == kept.Whole) && f.Bytes != uint64(len(payload)):
		return fmt.Errorf("%w: %d bytes, and not %d", errKept, len(payload), f.Bytes)
	}
	k.received = k.now()
	k.machine.Arrive(f, payload)
	k.perform()
	return nil
}
