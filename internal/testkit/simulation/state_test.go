package simulation

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/transport"
)

// errand is the purpose for which a state is sent.
type errand uint8

const (
	errandJoin   errand = 1 + iota // to a joiner: the state of its rank
	errandBackup                   // to a holder of a backup
	errandBack                     // to a process that rolls back: the state of its rank
)

// These are the kinds of frames that carry states: pieces, and the end of a state.
const (
	framePiece uint8 = 1 + iota
	frameEnd
)

// label identifies a state transfer.
type label struct {
	errand     errand
	stream     uint64
	generation uint32
	rank       int
	number     uint64 // number of the cut
	full       uint64 // the last backup that the sender knows to be complete
}

// stateCopy is the state of a rank at a cut.
type stateCopy struct {
	image [][]byte
	at    *position
}

// outbound is a state that is being sent to a joiner.
type outbound struct {
	to         *process
	generation uint32
	stream     uint64
	sent       [][]byte // by piece: the contents that the joiner has
	moving     int      // number of frames that the link holds
}

// inbound assembles the states that arrive from one process.
type inbound struct {
	pieces map[uint64][][]byte // by stream
}

// A frame with state has the errand as its flags; its arguments are the stream and the
// piece. The disk of the simulation holds the label and the position of the last frame, so
// their encoding is not tested.
type ending struct {
	label label
	at    *position
	sum   uint64 // sum of the pieces
}

// sender owns frames with state.
type sender struct {
	p *process
	o *outbound // nil: the frames hold a copy
}

// Sent implements transport.Owner.
func (s sender) Sent(*transport.Frame, error) {
	if s.o != nil {
		if s.o.moving--; s.o.moving == 0 {
			s.p.Wake()
		}
	}
}

func sumOf(pieces [][]byte) uint64 {
	sum := uint64(0)
	for _, b := range pieces {
		for len(b) >= 8 {
			sum = mix(sum, binary.LittleEndian.Uint64(b))
			b = b[8:]
		}
	}
	return sum
}

func cloneImage(im [][]byte) [][]byte {
	c := make([][]byte, len(im))
	for i := range im {
		c[i] = bytes.Clone(im[i])
	}
	return c
}

// stateFor returns the state that is being sent to a joiner, nil if the joiner has died.
func (p *process) stateFor(to job.Process) *outbound {
	if l := p.wires.Joiner(to); p.outbound[to] == nil && l != nil {
		p.outbound[to] = &outbound{to: l.Link, generation: p.member.Generation()}
	}
	return p.outbound[to]
}

// donate copies some of the state to a joiner ahead of the cut. The links must have sent
// everything that was copied at the previous safe point.
func (p *process) donate(to job.Process) error {
	out := p.stateFor(to)
	if out == nil {
		return nil // the head sent the order before it handled the death of the joiner
	}
	if p.lives[to] == out.to.birth {
		return fmt.Errorf("%v sends its state to %v, which has one", p, to)
	}
	if out.moving > 0 {
		return nil
	}
	all := true
	im := p.program.image()
	p.pause()
	for i, b := range im {
		if out.has(i, b) {
			continue
		}
		p.piece(out, i, bytes.Clone(b))
		p.reach("copy")
		if p.w.random.IntN(8) == 0 { // sometimes stop before everything was copied
			all = false
			break
		}
	}
	p.pause()
	p.reply(p.member.Donated(to, all)...)
	return nil
}

func (o *outbound) has(i int, b []byte) bool {
	return i < len(o.sent) && o.sent[i] != nil && bytes.Equal(o.sent[i], b)
}

// piece sends a piece of the state to a joiner.
func (p *process) piece(o *outbound, i int, b []byte) {
	if o.stream == 0 {
		o.stream = p.w.disk.stream()
	}
	for len(o.sent) <= i {
		o.sent = append(o.sent, nil)
	}
	o.sent[i] = bytes.Clone(b)
	o.moving++
	p.carry(o.to, errandJoin, framePiece, o.stream, i, b, sender{p, o})
}

func (p *process) carry(to *process, e errand, kind uint8, stream uint64, i int, b []byte, owner transport.Owner) {
	f := &transport.Frame{Owner: owner, Header: transport.Header{Channel: transport.ChannelRecovery, Kind: kind, Flags: uint16(e)}}
	f.Header.Args[0], f.Header.Args[1] = stream, uint64(i)
	if len(b) > 0 {
		f.Payload = [][]byte{b}
	}
	p.w.link(p, to).Send(f)
}

// transfer sends a joiner the rest of the state, and the position, in the cut.
func (p *process) transfer(to job.Process) error {
	out := p.stateFor(to)
	delete(p.outbound, to)
	defer p.member.Transferred(to)
	if out == nil {
		return nil // the joiner has died
	}
	number := p.program.points
	at, err := p.position(number)
	if err != nil {
		return err
	}
	at.live = make(map[job.Process]uint32)
	for q, life := range p.lives {
		at.live[q] = life
	}
	im := p.program.image()
	p.pause()
	for i, b := range im {
		if i == len(im)/2 {
			p.reach("state")
		}
		if !out.has(i, b) {
			p.piece(out, i, b) // the frame refers to the program's memory
		}
	}
	if out.stream == 0 {
		out.stream = p.w.disk.stream()
	}
	p.w.disk.endings[out.stream] = ending{label{errand: errandJoin, rank: p.self.Rank, number: number, generation: p.member.Generation()}, at, sumOf(im)}
	out.moving++
	p.carry(out.to, errandJoin, frameEnd, out.stream, 0, nil, sender{p, out})
	err = p.Wait(p.life, func() bool { return out.moving == 0 })
	p.reach("transferred")
	return err
}

// gift is a state that is sent in parallel to the program.
type gift struct {
	to    *process
	label label
	state stateCopy
	next  int // next piece
	step  string
}

// giveTo sends a copy to another process, in parallel to the program. step is the point of
// death in the middle.
func (p *process) giveTo(s stateCopy, to job.Process, l label, step string) {
	q := p.linkOf(to, 0)
	if q == nil {
		return // the process has died; the head handles this
	}
	l.stream = p.w.disk.stream()
	l.generation, l.full = p.member.Generation(), p.slots.Full()
	p.gifts = append(p.gifts, &gift{to: q, label: l, state: s, step: step})
}

// give sends the next piece of some gift.
func (p *process) give() {
	n := p.w.random.IntN(len(p.gifts))
	g := p.gifts[n]
	if !p.wired(g.to) {
		p.gifts = slices.Delete(p.gifts, n, n+1)
		return
	}
	if g.next < len(g.state.image) {
		p.carry(g.to, g.label.errand, framePiece, g.label.stream, g.next, g.state.image[g.next], sender{p: p})
		if g.next++; g.next == (len(g.state.image)+1)/2 {
			p.at(g.step)
		}
		return
	}
	p.gifts = slices.Delete(p.gifts, n, n+1)
	p.w.disk.endings[g.label.stream] = ending{g.label, g.state.at, sumOf(g.state.image)}
	p.carry(g.to, g.label.errand, frameEnd, g.label.stream, 0, nil, sender{p: p})
}

// copyState copies the state for a backup, in the cut, and starts sending it to
// the holder in parallel to the computation.
func (p *process) copyState(number uint64, holder job.Process) error {
	at, err := p.positionInCut(number)
	if err != nil {
		return err
	}
	p.slots.Reuse(p.self.Rank)
	im, generation := p.program.image(), p.member.Generation()
	p.pause()
	s := stateCopy{cloneImage(im), at}
	p.reach("backup copy")
	p.pause()
	if p.member.Generation() != generation {
		return nil // the copy is newer than the backup to which the job rolls back
	}
	if p.slots.Put(p.self.Rank, number, s) {
		p.reply(job.Reply{Kind: job.ReplyStored, Generation: p.member.Generation(), Number: number, Rank: p.self.Rank, Seconds: p.w.spec.cost.Seconds()})
	}
	p.giveTo(s, holder, label{errand: errandBackup, rank: p.self.Rank, number: number}, "backup send")
	return nil
}

// takeState receives a frame with state from another process.
func (p *process) takeState(from *process, h *transport.Header, payload []byte) {
	in := p.inbound[from]
	if in == nil {
		in = &inbound{pieces: make(map[uint64][][]byte)}
		p.inbound[from] = in
	}
	stream, i := h.Args[0], int(h.Args[1])
	if h.Kind == framePiece {
		pieces := in.pieces[stream]
		for len(pieces) <= i {
			pieces = append(pieces, nil)
		}
		pieces[i] = bytes.Clone(payload)
		in.pieces[stream] = pieces
		switch errand(h.Flags) {
		case errandJoin:
			p.at("receive")
		case errandBackup:
			p.at("backup receive")
		}
		return
	}
	end := p.w.disk.endings[stream]
	pieces := in.pieces[stream]
	delete(in.pieces, stream)
	if sumOf(pieces) != end.sum {
		p.w.fail("the state of rank %d at %d is not what %v has sent to %v", end.label.rank, end.label.number, from, p)
		return
	}
	p.arrived(end.label, stateCopy{pieces, end.at})
}

// arrived handles a complete state.
func (p *process) arrived(l label, s stateCopy) {
	var replies []job.Reply
	switch {
	case l.errand == errandBackup:
		replies = p.store(l, s)
	case l.errand == errandBack:
		p.back.Given(l.generation, s)
	case p.newcomer && l.rank == p.self.Rank && p.msgs == nil && p.member.Takes(l.generation, l.number):
		p.image, p.startAt = s.image, s.at
		p.member = recovery.NewJoiner(p.self, l.generation, l.number)
		replies = p.member.Joined()
	}
	if l.errand == errandJoin && !p.at("joined") || l.errand == errandBackup && !p.at("backup stored") {
		return
	}
	p.reply(replies...)
	p.changed()
}

// store keeps a copy that another process has sent.
func (p *process) store(l label, s stateCopy) []job.Reply {
	if l.generation < p.member.Generation() {
		return nil // the copy is from before a rollback
	}
	p.slots.Reached(l.full)
	if !p.slots.Put(l.rank, l.number, s) {
		if l.generation == p.w.head.state.Recovery.Generation && l.number == p.w.head.truth.planned {
			p.w.fail("%v does not keep the state of rank %d for backup %d", p, l.rank, l.number)
		}
		return nil
	}
	return []job.Reply{{Kind: job.ReplyStored, Generation: p.member.Generation(), Number: l.number, Rank: l.rank}}
}
