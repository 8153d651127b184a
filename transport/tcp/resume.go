package tcp

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/internal/queue"
)

// resumeTime bounds the exchange of positions on a new connection.
const resumeTime = 5 * time.Second

// Waits between two attempts to connect.
const (
	firstRetry = 5 * time.Millisecond
	lastRetry  = 250 * time.Millisecond
)

// position is how much a side of a link has received. Both sides send theirs on each new
// connection, when nothing more can arrive over the old one.
type position struct {
	attempt  uint64 // number of the connection, assigned by the side that dials
	received uint64 // number of whole frames
	offset   uint64 // bytes received of the next frame, including its header
}

const positionSize = 24

// encode returns p on the wire, with a checksum if frames have one.
func (p position) encode(sums bool) []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, positionSize), p.attempt)
	b = binary.LittleEndian.AppendUint64(b, p.received)
	b = binary.LittleEndian.AppendUint64(b, p.offset)
	if sums {
		sum := payloadSum(b)
		b = append(b, sum[:]...)
	}
	return b
}

func readPosition(r io.Reader, sums bool) (p position, err error) {
	var b [positionSize + sumSize]byte
	n := positionSize
	if sums {
		n += sumSize
	}
	if _, err := io.ReadFull(r, b[:n]); err != nil {
		return p, err
	}
	if sums && payloadSum(b[:positionSize]) != [sumSize]byte(b[positionSize:]) {
		return p, errDamaged
	}
	return position{binary.LittleEndian.Uint64(b[:]), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])}, nil
}

// here returns the position of this side. The link must have no connection.
func (s *reconnecting) here(attempt uint64) position {
	l := s.link
	l.rx.Lock()
	defer l.rx.Unlock()
	p := position{attempt: attempt, received: s.received.Load()}
	if l.reader.inside {
		p.offset = uint64(transport.HeaderSize + l.reader.got)
	}
	return p
}

// reach dials until it has installed the next connection, which it returns. It returns nil
// when the link is over.
func (s *reconnecting) reach() *connection {
	if s.options.Dial == nil {
		return s.reached()
	}
	wait := firstRetry
	for s.ctx.Err() == nil {
		o, err := s.dial()
		if err == nil {
			var c *connection
			if c, err = s.install(o); err == nil {
				return c
			}
		}
		s.because(err)
		select {
		case <-time.After(wait):
		case <-s.ctx.Done():
		}
		wait = min(2*wait, lastRetry)
	}
	return nil
}

func (s *reconnecting) dial() (*offer, error) {
	conn, err := s.options.Dial(s.ctx)
	if err != nil {
		return nil, err
	}
	s.attempt++
	var peer position
	err = s.bounded(conn, func() error {
		if _, err := conn.Write(s.here(s.attempt).encode(s.link.sums)); err != nil {
			return err
		}
		if peer, err = readPosition(conn, s.link.sums); err == nil && peer.attempt != s.attempt {
			err = fmt.Errorf("%w: attempt %d answered as %d", errResume, s.attempt, peer.attempt)
		}
		return err
	})
	return &offer{conn, peer}, err
}

// bounded runs an exchange on a new connection within resumeTime, and closes the
// connection on failure.
func (s *reconnecting) bounded(conn net.Conn, talk func() error) error {
	conn.SetDeadline(time.Now().Add(resumeTime))
	stop := context.AfterFunc(s.ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	err := talk()
	if !stop() && err == nil {
		err = s.ctx.Err()
	}
	if err == nil {
		err = conn.SetDeadline(time.Time{})
	}
	if err != nil {
		conn.Close()
		return fmt.Errorf("resume the link: %w", err)
	}
	return nil
}

// Adopt replaces the connection of the link by one that the peer has dialled. The caller
// must have checked that the connection is from the same incarnation of the peer. Adopt
// blocks for a short time at most.
func (l *Reconnecting) Adopt(conn net.Conn) error {
	s := l.s
	var peer position
	err := s.bounded(conn, func() (err error) {
		peer, err = readPosition(conn, s.link.sums)
		return err
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx.Err() != nil || peer.attempt <= s.attempt {
		conn.Close()
		return fmt.Errorf("resume the link: %w: attempt %d came after attempt %d", errResume, peer.attempt, s.attempt)
	}
	s.attempt = peer.attempt
	if s.offer != nil {
		s.offer.conn.Close()
	}
	s.offer = &offer{conn, peer}
	select {
	case s.offered <- struct{}{}:
	default:
	}
	s.link.mu.Lock()
	c := s.link.conn
	s.link.mu.Unlock()
	if c != nil {
		c.fail(errReplaced)
	}
	return nil
}

// reached is reach for the side that is dialled.
func (s *reconnecting) reached() *connection {
	for {
		select {
		case <-s.offered:
		case <-s.ctx.Done():
		}
		s.mu.Lock()
		o := s.offer
		s.offer = nil
		s.mu.Unlock()
		switch {
		case s.ctx.Err() != nil:
			if o != nil {
				o.conn.Close()
			}
			return nil
		case o == nil:
			continue
		}
		err := s.bounded(o.conn, func() error {
			_, err := o.conn.Write(s.here(o.peer.attempt).encode(s.link.sums))
			return err
		})
		if err == nil {
			var c *connection
			if c, err = s.install(o); err == nil {
				return c
			}
		}
		s.because(err)
	}
}

// install puts a connection into use, and resumes sending at the peer's position.
func (s *reconnecting) install(o *offer) (*connection, error) {
	l := s.link
	raw, err := newStream(o.conn)
	if err != nil {
		o.conn.Close()
		return nil, err
	}
	c := newConnection(raw)
	l.tx.Lock()
	defer l.tx.Unlock()
	l.rx.Lock()
	defer l.rx.Unlock()
	if err := l.rewind(o.peer); err != nil {
		c.fail(err)
		return nil, err
	}
	l.writer.conn, l.reader.conn = c, c
	w := &l.writer
	w.offset, w.saying = int(o.peer.offset), false
	s.farewell.Store(false)
	w.ended = w.ended && !s.through()
	l.mu.Lock()
	l.conn = c
	l.mu.Unlock()
	s.active.Store(true)
	if l.closed.Load() {
		c.fail(transport.ErrClosed)
	} else if l.peerDead.Load() {
		c.setReadDeadline(time.Now().Add(drainGrace))
	}
	select {
	case <-s.connected:
	default:
		close(s.connected)
	}
	// A connection offered to Adopt before l.conn was set could not replace this one in
	// Adopt, so it does so here.
	s.mu.Lock()
	if s.offer != nil {
		c.fail(errReplaced)
	}
	s.mu.Unlock()
	return c, nil
}

// rewind makes the first frame that the peer lacks the next one to be sent; install
// sets its first byte to send.
func (l *link) rewind(peer position) error {
	o := &l.outbox
	if err := l.acknowledged(peer.received); err != nil {
		return fmt.Errorf("%w: %w", errResume, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if o.acked != peer.received {
		return fmt.Errorf("%w: it has %d frames and had %d", errResume, peer.received, o.acked)
	}
	if peer.offset > 0 {
		if o.len() == 0 {
			return fmt.Errorf("%w: it has a part of a frame that was never sent", errResume)
		}
		e := o.at(0)
		if e.droppable || e.bye || peer.offset < transport.HeaderSize || peer.offset > uint64(e.size()) {
			return fmt.Errorf("%w: it has %d bytes of a frame of %d", errResume, peer.offset, e.size())
		}
	}
	o.next = 0
	return nil
}

// detach removes the connection. Droppable frames are lost with it, on both
// sides.
func (l *link) detach() {
	l.tx.Lock()
	l.writer.conn = nil
	l.mu.Lock()
	l.conn = nil
	var lost []*transport.Frame
	if l.sendErr == nil {
		for i := range l.outbox.len() {
			if e := l.outbox.at(i); e.droppable && !e.lost {
				e.lost = true
				if e.frame != nil {
					lost, e.frame = append(lost, e.frame), nil
				}
			}
		}
	}
	l.mu.Unlock()
	l.tx.Unlock()
	for _, f := range lost {
		queue.Sent(f, transport.ErrLost)
	}
	l.rx.Lock()
	defer l.rx.Unlock()
	r := &l.reader
	r.conn, r.head, r.tail = nil, 0, 0
	if r.inside && r.droppable && l.reconnecting.ctx.Err() == nil {
		r.inside, r.place = false, nil
		l.receiver.Torn(&r.header, r.got)
	}
}
