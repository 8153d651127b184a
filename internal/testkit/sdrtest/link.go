package sdrtest

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/intrahpc/intra/transport"
)

// End is a process at one end of a link.
type End interface {
	// Gone reports whether the process has been killed.
	Gone() bool
	// Sends is called before each frame that the process sends. If the process dies in this call,
	// the frame does not leave.
	Sends()
	// Knows reports whether the process knows that another one is dead.
	Knows(other End) bool
}

type pair struct{ from, to *Process }

// Link is one direction between two processes. A frame first waits. After a while it is
// handed over, and its memory is free. Then it is under way, and is delivered in one or two
// steps.
type Link struct {
	From, To End
	Step     func() // Move

	random   *rand.Rand
	receiver transport.Receiver
	waiting  []*transport.Frame
	underway []flight
	begun    bool // Begin was called for underway[0]
	place    []byte
	torn     bool // the last of underway is incomplete
	severed  bool // the link has stopped moving frames
	died     bool // the receiver is dead, and the sender's end has been notified
}

type flight struct {
	header    transport.Header
	payload   []byte
	droppable bool
	lost      bool // lost with a connection
}

// NewLink returns a link that delivers its frames to a receiver.
func NewLink(from, to End, receiver transport.Receiver, random *rand.Rand) *Link {
	l := &Link{From: from, To: to, receiver: receiver, random: random}
	l.Step = l.Move
	return l
}

// Send implements transport.Link.
func (l *Link) Send(f *transport.Frame) {
	f.Header.Size = 0
	for _, b := range f.Payload {
		f.Header.Size += uint64(len(b))
	}
	if l.From.Gone() || l.died || l.From.Knows(l.To) {
		sent(f, transport.ErrPeerGone)
		return
	}
	if l.From.Sends(); l.From.Gone() {
		return
	}
	l.waiting = append(l.waiting, f)
	if len(l.waiting) == 1 && !l.severed && l.random.IntN(2) == 0 {
		l.handOver()
	}
}

// SendNow implements transport.Prompt. It decides at random whether to hand the frame over
// at once.
func (l *Link) SendNow(h *transport.Header, payload, rest []byte) bool {
	if len(l.waiting) > 0 || l.severed || l.died || l.From.Gone() || l.From.Knows(l.To) || l.random.IntN(2) == 0 {
		return false
	}
	if l.From.Sends(); l.From.Gone() {
		return false
	}
	h.Size = uint64(len(payload) + len(rest))
	l.underway = append(l.underway, flight{header: *h, payload: slices.Concat(payload, rest)})
	return true
}

func sent(f *transport.Frame, err error) {
	if f.Owner != nil {
		f.Owner.Sent(f, err)
	}
}

func (l *Link) handOver() {
	f := l.waiting[0]
	l.waiting = l.waiting[1:]
	payload := make([]byte, 0, f.Header.Size)
	for _, b := range f.Payload {
		payload = append(payload, b...)
	}
	l.underway = append(l.underway, flight{header: f.Header, payload: payload, droppable: f.Droppable})
	if f.Mid != nil && !f.Mid() { // the sender has died in the middle of the frame
		return
	}
	sent(f, nil)
}

// Cut discards a random tail of the frames that a dead process had under way.
func (l *Link) Cut() {
	l.waiting = nil
	if len(l.underway) == 0 {
		return
	}
	keep := l.random.IntN(len(l.underway) + 1)
	if l.begun {
		keep = max(keep, 1)
	}
	if l.torn = keep > 0 && (keep < len(l.underway) || l.random.IntN(2) == 0); l.torn && len(l.underway[keep-1].payload) == 0 {
		l.torn = false
		if !l.begun || keep > 1 {
			keep--
		}
	}
	l.underway = l.underway[:keep]
}

// Break ends the connection of a link that outlives its connections. Droppable frames after a
// random frame are lost, and the others arrive over the next connection.
func (l *Link) Break() {
	from := l.random.IntN(len(l.underway) + 1)
	for i := from; i < len(l.underway); i++ {
		f := &l.underway[i]
		if i == 0 && l.begun && f.droppable {
			l.begun, l.place = false, nil
			l.receiver.Torn(&f.header, len(f.payload)/2)
		}
		f.lost = f.lost || f.droppable
	}
}

// Sever ends the link: frames under way are lost, and later frames wait until the receiver
// is dead.
func (l *Link) Sever() {
	if l.begun {
		f := l.underway[0]
		l.receiver.Torn(&f.header, len(f.payload)/2)
	}
	l.severed, l.begun, l.place, l.underway = true, false, nil, nil
}

// CanMove reports whether Move has something to do.
func (l *Link) CanMove() bool {
	return !l.severed && (len(l.waiting) > 0 && !l.From.Gone() || len(l.underway) > 0 && !l.To.Gone())
}

// Ended reports whether nothing is under way.
func (l *Link) Ended() bool { return len(l.underway) == 0 }

// Waiting returns the number of frames that have not been handed over.
func (l *Link) Waiting() int { return len(l.waiting) }

// Move moves the first frame by one step.
func (l *Link) Move() {
	if len(l.waiting) > 0 && !l.From.Gone() && (len(l.underway) == 0 || l.To.Gone() || l.random.IntN(2) == 0) {
		l.handOver()
		return
	}
	if l.To.Gone() {
		l.underway, l.begun = nil, false
		return
	}
	f := &l.underway[0]
	last := l.torn && len(l.underway) == 1
	half := len(f.payload) / 2
	if !l.begun && !f.lost && len(f.payload) > 0 && (last || l.random.IntN(2) == 0) {
		l.place = l.receiver.Begin(&f.header)
		l.begun = true
		copy(l.place, f.payload[:half])
		return
	}
	first := *f
	begun, place := l.begun, l.place
	l.begun, l.place = false, nil
	l.underway = l.underway[1:]
	switch {
	case last && first.lost: // without a connection, no call reports the frame
	case last:
		l.receiver.Torn(&first.header, half)
	case first.lost:
		l.receiver.Lost(&first.header)
	case begun && place != nil:
		copy(place, first.payload)
		l.receiver.End(&first.header, place[:len(first.payload)])
	default:
		l.receiver.End(&first.header, first.payload)
	}
}

// PeerDied implements transport.Link: it returns the frames that were not
// handed over.
func (l *Link) PeerDied() {
	waiting := l.waiting
	l.waiting, l.underway, l.begun, l.died = nil, nil, false, true
	for _, f := range waiting {
		sent(f, transport.ErrPeerGone)
	}
}

// Start implements transport.Link.
func (l *Link) Start(transport.Receiver) {}

// Progress implements transport.Link.
func (l *Link) Progress() bool { return false }

// Attend implements transport.Link.
func (l *Link) Attend(bool) {}

// Shutdown implements transport.Link.
func (l *Link) Shutdown(context.Context) error { return nil }

// Close implements transport.Link.
func (l *Link) Close() error { return nil }
