package tcp

import (
	"errors"
	"fmt"
	"time"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/internal/queue"
)

const (
	batchFrames = 32 // maximum number of frames in one system call
	batchPieces = 64 // maximum number of headers and pieces of payload in one system call
)

// writer is the state of sending, guarded by tx.
type writer struct {
	conn   *connection // nil: there is none now
	offset int         // bytes of the entry in progress that are handed over
	ended  bool

	control   [transport.HeaderSize]byte // a message of the link itself
	controlAt int                        // bytes of control that are handed over
	saying    bool                       // control is being sent

	heads  [batchFrames][transport.HeaderSize]byte
	ones   [batchFrames][1][]byte
	iov    [batchPieces]iovec
	pieces int // used elements of iov
}

// goodbye is the link's own frame: the sender has ended regularly and sends
// nothing more. No header of a layer begins with the same bytes.
var goodbye = [transport.HeaderSize]byte{0, 'b', 'y', 'e'}

// farewell is the last message of a reconnecting link. Its sender knows that both sides
// have received everything. A side that receives it ends at once. Without a farewell that
// side has to wait for another connection, in case the peer still lacks something.
var farewell = [transport.HeaderSize]byte{0, 'e', 'n', 'd'}

// runWriter waits until the socket accepts more bytes, and sends the frames that other
// goroutines could not send without blocking.
func (l *link) runWriter(c *connection) {
	w := &l.writer
	for {
		select {
		case <-l.kick:
		case <-c.down:
			if l.reconnecting != nil {
				return
			}
		}
		for {
			l.tx.Lock()
			_, blocked := l.write()
			ended := w.ended || w.conn != c
			l.tx.Unlock()
			if ended {
				return
			}
			if !blocked {
				// A Send that found tx taken has left its frame to this
				// goroutine, maybe after the last check of write.
				if l.idle() {
					break
				}
				continue
			}
			if err := c.awaitSend(); err != nil {
				if l.reconnecting != nil {
					return // the reader notices the end
				}
				l.fail(fmt.Errorf("%w: %w", transport.ErrPeerGone, err))
			}
		}
	}
}

// idle reports whether there is nothing to send.
func (l *link) idle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.outbox.waiting() == 0 && l.sendErr == nil && !l.reconnecting.due()
}

// pump hands over the bytes that the socket accepts now, unless another goroutine does.
func (l *link) pump() (moved bool) {
	for {
		if l.idle() || !l.tx.TryLock() {
			return moved
		}
		m, blocked := l.write()
		ended := l.writer.ended
		l.tx.Unlock()
		moved = moved || m
		if blocked || ended {
			l.wakeWriter()
			return moved
		}
		// Frames queued while tx was held are left for this goroutine.
	}
}

// write hands over frames until the outbox is empty, the socket is full, or the
// connection fails. The caller holds tx.
func (l *link) write() (moved, blocked bool) {
	w := &l.writer
	for !w.ended {
		l.mu.Lock()
		if l.sendErr != nil {
			failed, err := l.outbox.take(), l.sendErr
			if err != transport.ErrClosed {
				l.failure = err
			}
			l.mu.Unlock()
			w.ended = true
			for _, f := range failed {
				queue.Sent(f, err)
			}
			return true, false
		}
		c := w.conn
		if c == nil {
			l.mu.Unlock()
			return moved, true // until there is another connection
		}
		w.gather(&l.outbox, l.reconnecting)
		l.mu.Unlock()
		n, err := 0, error(nil)
		if w.pieces == 0 {
			err = c.flush()
		} else {
			n, err = c.send(w.iov[:w.pieces])
		}
		switch {
		case errors.Is(err, errAgain):
			return moved, true
		case err != nil && l.reconnecting != nil:
			// The reader still has to read the bytes that the peer sent before.
			w.conn = nil
			c.cause.CompareAndSwap(nil, &err)
			c.setReadDeadline(time.Now().Add(drainGrace))
			return moved, true
		case err != nil:
			l.fail(fmt.Errorf("%w: %w", transport.ErrPeerGone, err))
			continue
		case w.pieces == 0:
			if l.reconnecting.said() {
				w.ended = true
				c.closeWrite()
				c.setReadDeadline(time.Now().Add(lingerTime))
				return true, false
			}
			return moved, false
		}
		moved = moved || n > 0
		l.advance(n)
	}
	return moved, false
}

// middle returns the offset, from the beginning of a frame, at which its Mid is called. For
// a frame without payload the offset is inside the header, which the peer sees only when it
// is whole.
func middle(size uint64) int {
	if size == 0 {
		return transport.HeaderSize / 2
	}
	return transport.HeaderSize + int(size/2)
}

// gather collects the next pieces of the stream.
func (w *writer) gather(o *outbox, reconnecting *reconnecting) {
	w.pieces = 0
	if w.offset == 0 && !w.saying && reconnecting.due() {
		w.control, w.controlAt, w.saying = reconnecting.word(), 0, true
		if reconnecting.link.sums {
			seal(&w.control)
		}
	}
	if w.saying {
		w.add(w.control[w.controlAt:])
	}
	from := w.offset
	for i := range min(o.waiting(), batchFrames) {
		e := o.at(o.next + i)
		limit, stop := e.size(), e.mid() != nil
		if stop {
			limit = middle(e.header.Size)
		}
		if from < transport.HeaderSize {
			if w.pieces == len(w.iov) {
				return
			}
			e.encode(&w.heads[i])
			w.add(w.heads[i][from:min(transport.HeaderSize, limit)])
		}
		at := transport.HeaderSize
		for _, p := range e.payload(&w.ones[i]) {
			if lo, hi := max(from-at, 0), min(limit-at, len(p)); lo < hi && !w.add(p[lo:hi]) {
				return
			}
			at += len(p)
		}
		if !stop && from < e.size() {
			if tail := e.tail(); !w.add(tail[min(max(from-at, 0), len(tail)):]) {
				return
			}
		}
		if stop || w.pieces == len(w.iov) {
			return
		}
		from = 0
	}
}

// Bits beside the channel in the first byte of a header on the wire.
const (
	bitDroppable = 0x80
	bitLost      = 0x40
)

func (e *entry) encode(b *[transport.HeaderSize]byte) {
	if e.sums {
		defer seal(b)
	}
	if e.bye {
		*b = goodbye
		return
	}
	e.header.Encode(b)
	if e.droppable {
		b[0] |= bitDroppable
	}
	if e.lost {
		b[0] |= bitLost
	}
}

func (w *writer) add(b []byte) bool {
	if w.pieces == len(w.iov) {
		return false
	}
	if len(b) > 0 {
		w.iov[w.pieces] = piece(b)
		w.pieces++
	}
	return true
}

// advance records that n more bytes of the stream are handed over.
func (l *link) advance(n int) {
	w := &l.writer
	clear(w.iov[:w.pieces])
	if w.saying {
		took := min(n, len(w.control)-w.controlAt)
		n -= took
		w.controlAt += took
		w.saying = w.controlAt < len(w.control)
	}
	for {
		l.mu.Lock()
		if l.outbox.waiting() == 0 {
			l.mu.Unlock()
			return
		}
		e := l.outbox.at(l.outbox.next)
		total, mid := e.size(), e.mid()
		limit := total
		if mid != nil {
			limit = middle(e.header.Size)
		}
		took := min(n, limit-w.offset)
		n -= took
		w.offset += took
		if w.offset < limit {
			l.mu.Unlock()
			return
		}
		if mid != nil {
			e.midDone = true
			l.mu.Unlock()
			if !mid() {
				l.Close()
				return
			}
			continue
		}
		back := l.handedOver(e)
		answered := l.outbox.acked < l.outbox.known
		l.mu.Unlock()
		if answered {
			l.free()
		}
		w.offset = 0
		if back != nil {
			queue.Sent(back, nil)
		}
		if w.ended || n == 0 {
			return
		}
	}
}

// handedOver records that the next entry is handed over, and returns the frame if
// its owner gets it back now. The caller holds mu.
func (l *link) handedOver(e *entry) (back *transport.Frame) {
	o := &l.outbox
	back = e.frame
	if l.reconnecting == nil {
		if e.bye {
			l.writer.ended = true
			if l.sendErr == nil {
				l.sendErr = transport.ErrClosed
			}
		}
		o.next++
		o.pop()
		return back
	}
	switch {
	case e.frame == nil || e.droppable || e.header.Size == 0:
	case e.held:
		back = nil
	default:
		e.copied, e.copyEnd = o.copies.copyOf(e.frame.Payload, int(e.header.Size))
		if e.held = e.copied == nil; e.held {
			back = nil
		}
	}
	if back != nil {
		e.frame = nil
	}
	o.next++
	return back
}
