package output

import (
	"bytes"
	"sync"
)

// Written is a position in a stream of a rank: all output before it has been written. It
// consists of a number of lines, and a number of bytes of the next line.
type Written struct {
	Stream Stream `json:"stream"`
	Lines  int    `json:"lines"`
	Cut    int    `json:"cut,omitempty"`
}

// before reports whether w is less than v.
func (w Written) before(v Written) bool {
	return w.Lines < v.Lines || w.Lines == v.Lines && w.Cut < v.Cut
}

// maxPiece bounds the bytes that are sent in one call.
const maxPiece = 32 << 10

// ReplayBuffer is one stream of a process at its agent. It drops output that the head has
// received. If another head may follow, it drops only output that the head has written, so
// that no output is lost with a head. It never sends a head more than the head has room for.
type ReplayBuffer struct {
	window int // number of bytes that a head has room for
	keep   bool

	mu      sync.Mutex
	moved   *sync.Cond
	send    func([]byte) // sends to the head, no bytes at the end; nil while there is no head
	buf     []byte
	first   Written // position where buf begins
	written Written // position up to which the rank's stream has been written
	sent    int     // bytes of buf that were sent to the head
	used    int     // bytes sent that the head has not consumed yet
	ended   bool
	endSent bool // the end was sent to the head
	muted   bool // the writes of the process are not output
}

// NewReplayBuffer returns an empty buffer for a head with room for window bytes. With keep,
// the buffer keeps sent bytes until they have been written. send must neither block nor keep
// the bytes.
func NewReplayBuffer(window int, keep bool, send func([]byte)) *ReplayBuffer {
	r := &ReplayBuffer{window: window, keep: keep, send: send}
	r.moved = sync.NewCond(&r.mu)
	return r
}

// Mute drops bytes once they are sent, until Resume. Another head must not take these bytes
// for output.
func (r *ReplayBuffer) Mute() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.muted = true
	r.push()
}

// Resume continues the output of another process from position at. It drops the process's own
// earlier output. text is the output after that position that the head has already received.
// If again is set, the head gets that output once more.
func (r *ReplayBuffer) Resume(at Written, text []byte, again bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.muted = false
	if !r.keep {
		return
	}
	if again && at.before(r.written) {
		r.written = at
	}
	r.first, r.buf, r.sent = at, bytes.Clone(text), len(text)
	r.trim()
}

// Write adds output of the process. A call without bytes marks the end of the output. Write
// blocks while the head is far behind.
func (r *ReplayBuffer) Write(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = r.ended || len(b) == 0
	r.buf = append(r.buf, b...)
	r.push()
	for len(r.buf)-r.sent > r.window {
		r.moved.Wait()
	}
}

// Drain waits until everything has been sent to the head.
func (r *ReplayBuffer) Drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.sent < len(r.buf) {
		r.moved.Wait()
	}
}

// Taken records that the head has consumed n bytes, and has room for as many more.
func (r *ReplayBuffer) Taken(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= n
	r.push()
}

// push sends the bytes that may be sent now. The caller holds mu.
func (r *ReplayBuffer) push() {
	for r.send != nil && r.sent < len(r.buf) {
		n := min(len(r.buf)-r.sent, maxPiece)
		if r.used > 0 && r.used+n > r.window {
			break
		}
		r.send(r.buf[r.sent : r.sent+n])
		r.sent, r.used = r.sent+n, r.used+n
	}
	if r.send != nil && r.ended && !r.endSent && r.sent == len(r.buf) {
		r.endSent = true
		r.send(nil)
	}
	if !r.keep || r.muted {
		r.drop(r.sent)
	}
	r.moved.Broadcast()
}

// drop drops the first n bytes, which have been sent.
func (r *ReplayBuffer) drop(n int) {
	r.buf, r.sent = r.buf[n:], r.sent-n
	if len(r.buf) == 0 {
		r.buf = nil
	}
}

// Confirm records that the head has written the stream up to w, and drops that part.
func (r *ReplayBuffer) Confirm(w Written) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keep && r.written.before(w) {
		r.written = w
		r.trim()
	}
}

// trim drops the sent bytes that have been written. A head numbers lines as they arrive, so
// trim must not skip lines that were not sent. The caller holds mu.
func (r *ReplayBuffer) trim() {
	if r.muted {
		return
	}
	for r.first.Lines < r.written.Lines {
		i := bytes.IndexByte(r.buf[:r.sent], '\n')
		if i < 0 {
			return
		}
		r.drop(i + 1)
		r.first.Lines, r.first.Cut = r.first.Lines+1, 0
	}
	if r.first.before(r.written) {
		n := min(r.written.Cut-r.first.Cut, r.sent)
		if i := bytes.IndexByte(r.buf[:n], '\n'); i >= 0 { // the line is shorter than the written one
			n = i
		}
		r.drop(n)
		r.first.Cut += n
	}
}

// Rewind prepares the buffer for a new head. It returns the position where the repeated bytes
// begin, and the position up to which the stream has been written.
func (r *ReplayBuffer) Rewind() (from, out Written) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trim()
	r.send, r.sent, r.used, r.endSent = nil, 0, 0, false
	return r.first, r.written
}

// Play sends the buffer to a new head.
func (r *ReplayBuffer) Play(send func([]byte)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.send = send
	r.push()
}
