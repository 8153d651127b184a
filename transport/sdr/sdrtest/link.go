package sdrtest

import (
	"context"

	"github.com/intrahpc/intra/transport"
)

type pair struct{ from, to *Process }

// link is one direction between two processes. A frame waits, is handed over
// at some time (its memory is free then), is under way, and is delivered, at
// once or in two steps.
type link struct {
	job      *run
	from, to *Process
	receiver transport.Receiver
	waiting  []*transport.Frame
	underway []flight
	begun    bool // Begin was called for underway[0]
	place    []byte
	torn     bool // the last of underway is incomplete
	step     func()
}

type flight struct {
	header  transport.Header
	payload []byte
}

func (l *link) Send(f *transport.Frame) {
	f.Header.Size = 0
	for _, b := range f.Payload {
		f.Header.Size += uint64(len(b))
	}
	if l.from.Killed || l.peerGone() {
		f.Owner.Sent(f, transport.ErrPeerGone)
		return
	}
	if l.from.pass(AtFrame) {
		if l.job.kill(l.from, AtFrame); l.from.Killed {
			return
		}
	}
	l.waiting = append(l.waiting, f)
	if len(l.waiting) == 1 && l.job.random.IntN(2) == 0 {
		l.handOver()
	}
}

// peerGone reports whether the sender has heard that the receiver is dead.
func (l *link) peerGone() bool {
	for _, q := range l.job.dead[:l.from.verdicts] {
		if q == l.to {
			return true
		}
	}
	return false
}

func (l *link) handOver() {
	f := l.waiting[0]
	l.waiting = l.waiting[1:]
	var payload []byte
	for _, b := range f.Payload {
		payload = append(payload, b...)
	}
	l.underway = append(l.underway, flight{f.Header, payload})
	if f.Mid != nil && !f.Mid() { // the sender has died in the middle of it
		return
	}
	f.Owner.Sent(f, nil)
}

// cut loses a part of what a dead process had not handed over to the end.
func (l *link) cut() {
	l.waiting = nil
	if len(l.underway) == 0 {
		return
	}
	keep := l.job.random.IntN(len(l.underway) + 1)
	if l.begun {
		keep = max(keep, 1)
	}
	if l.torn = keep > 0 && (keep < len(l.underway) || l.job.random.IntN(2) == 0); l.torn && len(l.underway[keep-1].payload) == 0 {
		l.torn = false
		if !l.begun || keep > 1 {
			keep--
		}
	}
	l.underway = l.underway[:keep]
}

func (l *link) canMove() bool {
	return len(l.waiting) > 0 && !l.from.Killed || len(l.underway) > 0 && !l.to.Killed
}

func (l *link) ended() bool { return len(l.underway) == 0 }

// move takes one step with the first frame.
func (l *link) move() {
	if len(l.waiting) > 0 && !l.from.Killed && (len(l.underway) == 0 || l.to.Killed || l.job.random.IntN(2) == 0) {
		l.handOver()
		return
	}
	if l.to.Killed {
		l.underway, l.begun = nil, false
		return
	}
	f := &l.underway[0]
	last := l.torn && len(l.underway) == 1
	half := len(f.payload) / 2
	if !l.begun && len(f.payload) > 0 && (last || l.job.random.IntN(2) == 0) {
		l.place = l.receiver.Begin(&f.header)
		l.begun = true
		copy(l.place, f.payload[:half])
		return
	}
	switch {
	case last:
		l.receiver.Torn(&f.header, half)
	case l.begun && l.place != nil:
		copy(l.place, f.payload)
		l.receiver.End(&f.header, l.place[:len(f.payload)])
	default:
		l.receiver.End(&f.header, f.payload)
	}
	l.begun, l.place = false, nil
	l.underway = l.underway[1:]
}

// peerDied returns the frames that were not handed over.
func (l *link) peerDied() {
	waiting := l.waiting
	l.waiting, l.underway, l.begun = nil, nil, false
	for _, f := range waiting {
		f.Owner.Sent(f, transport.ErrPeerGone)
	}
}

func (l *link) Start(transport.Receiver)       {}
func (l *link) Progress() bool                 { return false }
func (l *link) Attend(bool)                    {}
func (l *link) PeerDied()                      { l.peerDied() }
func (l *link) Shutdown(context.Context) error { return nil }
func (l *link) Close() error                   { return nil }
