package tcp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/intrahpc/intra/transport"
)

const (
	// The buffer lets one system call read many small frames.
	readBuffer = 64 << 10
	// A longer payload that is not in the buffer yet is read straight into its
	// place.
	smallPayload = 16 << 10
	// The link's own memory for a payload grows as bytes arrive, because a header
	// may lie about the size.
	growStep = 1 << 20
)

var errNoGoodbye = errors.New("stream ended without goodbye")

// reader is the state of receiving, guarded by rx.
type reader struct {
	conn       *connection // nil: none now
	buf        []byte
	head, tail int // buf[head:tail] is received and not yet parsed

	header    transport.Header
	droppable bool   // the frame of header is droppable
	inside    bool   // Begin was called and End was not
	place     []byte // memory for the payload; shorter than the payload while memory of the link grows
	own       bool   // place belongs to the link
	got       int
	spare     []byte // memory of the link, used for an earlier frame
	bye       bool   // the peer has sent its goodbye
	ended     bool   // Closed was called

	iov    [2]iovec
	pieces int
}

// runReader receives while no other goroutine does. It ends the receiving side,
// or breaks the connection.
func (l *link) runReader(c *connection) {
	r := &l.reader
	for {
		l.rx.Lock()
		more, err := true, error(nil)
		for more && err == nil && !l.readAll() {
			more, err = l.receive()
		}
		ended := l.readAll() || r.conn != c
		l.rx.Unlock()
		if ended {
			return
		}
		if err = c.awaitReceive(); err == nil {
			continue
		}
		l.rx.Lock()
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// The peer is gone, so everything that can still arrive is in the socket.
			for more := true; more && !l.readAll(); {
				more, _ = l.receive()
			}
		}
		if r.conn == c {
			l.receiveEnded(c, err)
		}
		l.rx.Unlock()
		return
	}
}

// readAll reports whether nothing more is to be read. A reconnecting link
// continues to read after the peer's goodbye, for acknowledgements of its own
// frames.
func (l *link) readAll() bool { return l.reader.ended && (l.reconnecting == nil || !l.reader.bye) }

// receiveEnded handles the end of the stream. The caller holds rx.
func (l *link) receiveEnded(c *connection, cause error) {
	if l.reconnecting == nil || l.closed.Load() || l.peerDead.Load() {
		l.finish(cause)
	}
	if l.reconnecting == nil {
		return
	}
	l.reader.conn = nil
	if l.reconnecting.through() && cause == errNoGoodbye {
		l.wakeWriter() // to send the farewell
		return
	}
	c.fail(cause)
}

// receive reads once from the connection and delivers the bytes. It reports whether there
// were any. The caller holds rx.
func (l *link) receive() (bool, error) {
	r, c := &l.reader, l.reader.conn
	if c == nil || l.receiver == nil || l.readAll() {
		return false, nil
	}
	r.aim()
	n, err := c.receive(r.iov[:r.pieces])
	switch {
	case errors.Is(err, errAgain):
		return false, nil
	case err == io.EOF:
		err = errNoGoodbye
		fallthrough
	case err != nil:
		l.receiveEnded(c, err)
		return false, err
	}
	l.reconnecting.markActive()
	err = l.accept(n)
	if err == nil {
		err = l.parse()
	}
	if err != nil {
		l.receiveEnded(c, err)
		return true, err
	}
	switch {
	case l.closed.Load():
		l.receiveEnded(c, transport.ErrClosed)
	case r.bye:
		l.finish(nil)
	}
	if l.reconnecting.due() {
		l.pump()
	}
	return true, nil
}

// aim sets where the next bytes go: first to the rest of the payload's place, then to the
// buffer.
func (r *reader) aim() {
	r.pieces = 0
	if r.inside && uint64(r.got) < r.header.Size {
		if r.own && r.got == len(r.place) {
			r.grow()
		}
		r.iov[0], r.pieces = piece(r.place[r.got:]), 1
		if uint64(len(r.place)) < r.header.Size {
			return
		}
	}
	// Inside a payload the buffer is empty or holds the beginning of a checksum. Otherwise
	// it holds the beginning of a frame that fits into it.
	if r.head > 0 {
		r.tail = copy(r.buf, r.buf[r.head:r.tail])
		r.head = 0
	}
	r.iov[r.pieces] = piece(r.buf[r.tail:])
	r.pieces++
}

// grow enlarges the link's own place, up to the size of the payload.
func (r *reader) grow() {
	want := min(uint64(max(2*len(r.place), growStep)), r.header.Size)
	if uint64(cap(r.place)) >= want {
		r.place = r.place[:min(uint64(cap(r.place)), r.header.Size)]
		return
	}
	place := make([]byte, want)
	copy(place, r.place)
	r.place = place
}

// accept assigns n bytes just read to the payload and the buffer.
func (l *link) accept(n int) error {
	r := &l.reader
	clear(r.iov[:])
	if r.inside {
		took := min(n, len(r.place)-r.got)
		r.got += took
		n -= took
	}
	r.tail += n
	if !r.inside {
		return nil
	}
	return l.endIfWhole()
}

func (l *link) endIfWhole() error {
	r := &l.reader
	trailer := l.trailer(r.header.Size)
	if uint64(r.got) < r.header.Size || r.tail-r.head < trailer {
		return nil
	}
	payload := r.place[:r.header.Size]
	if trailer > 0 && payloadSum(payload) != [sumSize]byte(r.buf[r.head:]) {
		if !r.droppable { // a droppable frame is reported as lost instead
			r.got = 0
		}
		return errDamaged
	}
	r.head += trailer
	if r.own {
		r.spare = r.place
	}
	r.inside, r.place = false, nil
	l.receiver.End(&r.header, payload)
	l.reconnecting.took(&r.header, r.droppable)
	return nil
}

// parse delivers the frames in the buffer.
func (l *link) parse() error {
	r := &l.reader
	for !r.inside && r.tail-r.head >= transport.HeaderSize && !l.closed.Load() {
		plain, lost := [transport.HeaderSize]byte(r.buf[r.head:]), false
		head := &plain
		if l.sums && !unseal(head) {
			return errDamaged
		}
		if head[0] == 0 {
			r.head += transport.HeaderSize
			if err := l.word(head); err != nil {
				return err
			}
			continue
		}
		if r.bye {
			return fmt.Errorf("%w: a frame after goodbye", transport.ErrHeader)
		}
		if l.reconnecting != nil {
			r.droppable, lost = head[0]&bitDroppable != 0, head[0]&bitLost != 0
			head[0] &^= bitDroppable | bitLost
		}
		if err := r.header.Decode(head); err != nil {
			return err
		}
		if lost {
			r.head += transport.HeaderSize
			l.receiver.Lost(&r.header)
			l.reconnecting.took(&r.header, true)
			continue
		}
		have := uint64(r.tail - r.head - transport.HeaderSize)
		body := r.buf[r.head+transport.HeaderSize : r.tail]
		trailer := l.trailer(r.header.Size)
		if r.header.Size+uint64(trailer) <= have {
			payload := body[:r.header.Size:r.header.Size]
			if trailer > 0 && payloadSum(payload) != [sumSize]byte(body[r.header.Size:]) {
				return errDamaged
			}
			r.head += transport.HeaderSize + int(r.header.Size) + trailer
			l.receiver.End(&r.header, payload)
			l.reconnecting.took(&r.header, r.droppable)
			continue
		}
		if r.header.Size <= smallPayload {
			return nil // the rest of the frame fits into the buffer
		}
		r.inside, r.got = true, 0
		r.place = l.receiver.Begin(&r.header)
		if r.own = r.place == nil; r.own {
			r.place, r.spare = r.spare[:0], nil
			for uint64(len(r.place)) < min(have, r.header.Size) {
				r.grow()
			}
		} else {
			r.place = r.place[:r.header.Size:r.header.Size]
		}
		r.got = copy(r.place, body)
		r.head += transport.HeaderSize + r.got
	}
	if r.head == r.tail {
		r.head, r.tail = 0, 0
	}
	return nil
}

// word handles a message that the peer's link sends by itself.
func (l *link) word(head *[transport.HeaderSize]byte) error {
	r := &l.reader
	switch {
	case *head == goodbye && !r.bye:
		r.bye = true
		if extra := r.tail - r.head; extra > 0 && l.reconnecting == nil {
			return fmt.Errorf("%w: %d bytes after goodbye", transport.ErrHeader, extra)
		}
		l.reconnecting.tookGoodbye()
		return nil
	case l.reconnecting != nil && *head == farewell:
		l.reconnecting.peerEnd.Store(true)
		return nil
	case l.reconnecting != nil && [4]byte(head[:4]) == acknowledge:
		return l.acknowledged(binary.LittleEndian.Uint64(head[8:]))
	}
	return fmt.Errorf("%w: channel 0", transport.ErrHeader)
}

// finish makes the last calls of the Receiver. cause is the reason for the end of the
// stream, nil after a goodbye.
func (l *link) finish(cause error) {
	r := &l.reader
	if r.ended {
		return
	}
	r.ended = true
	if r.inside {
		r.inside, r.place = false, nil
		l.receiver.Torn(&r.header, r.got)
	}
	var err error
	switch {
	case l.closed.Load():
		err = transport.ErrClosed
	case cause == nil:
	case l.peerDead.Load():
		err = transport.ErrPeerGone
	default:
		err = fmt.Errorf("%w: %w", transport.ErrPeerGone, cause)
	}
	l.mu.Lock()
	l.closeErr = err
	l.mu.Unlock()
	if err != nil {
		l.fail(err)
		if l.reader.conn != nil {
			l.reader.conn.fail(err)
		}
	}
	l.receiver.Closed(err)
}
