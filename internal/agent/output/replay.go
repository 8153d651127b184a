package output

import (
	"bytes"
	"sync"
)

// Written says how much of a stream of a rank is out: so many lines, and of the
// next one so many bytes.
type Written struct {
	Stream Stream `json:"stream"`
	Lines  int    `json:"lines"`
	Cut    int    `json:"cut,omitempty"`
}

// before reports whether less is out by w than by v.
func (w Written) before(v Written) bool {
	return w.Lines < v.Lines || w.Lines == v.Lines && w.Cut < v.Cut
}

// maxPiece bounds the bytes that are sent at once.
const maxPiece = 32 << 10

// ReplayBuffer is one stream of a process as its agent has it. It drops what the
// head has; where another head may follow, only what the head has written, so
// that nothing is lost with a head. A head is sent no more than it has room for.
type ReplayBuffer struct {
	window int // bytes that a head has room for
	keep   bool

	mu      sync.Mutex
	moved   *sync.Cond
	send    func([]byte) // to the head, nothing at the end; nil while there is none
	buf     []byte
	first   Written // where buf begins
	written Written // what is out
	sent    int     // bytes of buf that the head has been sent
	used    int     // bytes that it has not made room for
	ended   bool
	told    bool // the head knows that it has ended
	muted   bool // what the process writes is no output
}

// NewReplayBuffer returns an empty one, for a head that has room for window
// bytes. With keep, what has been sent stays until it is out. send must neither
// block nor keep the bytes.
func NewReplayBuffer(window int, keep bool, send func([]byte)) *ReplayBuffer {
	r := &ReplayBuffer{window: window, keep: keep, send: send}
	r.moved = sync.NewCond(&r.mu)
	return r
}

// Mute drops what the head has been sent from now on, until Resume: no other head
// is to take it for output.
func (r *ReplayBuffer) Mute() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.muted = true
	r.push()
}

// Resume goes on where the output of a process stands that writes nothing now:
// with the text from there on, which the head has. What the process wrote before
// is no output from there on. With anew all of that is put out again.
func (r *ReplayBuffer) Resume(at Written, text []byte, anew bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.muted = false
	if !r.keep {
		return
	}
	if anew && at.before(r.written) {
		r.written = at
	}
	r.first, r.buf, r.sent = at, bytes.Clone(text), len(text)
	r.trim()
}

// Write takes what the process writes, nothing at the end. It blocks while the
// head is far behind.
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

// Drain waits until the head has been sent everything.
func (r *ReplayBuffer) Drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.sent < len(r.buf) {
		r.moved.Wait()
	}
}

// Taken notes that the head has taken n bytes, and has room for as many more.
func (r *ReplayBuffer) Taken(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= n
	r.push()
}

// push sends what may be sent now. It is called with mu held.
func (r *ReplayBuffer) push() {
	for r.send != nil && r.sent < len(r.buf) {
		n := min(len(r.buf)-r.sent, maxPiece)
		if r.used > 0 && r.used+n > r.window {
			break
		}
		r.send(r.buf[r.sent : r.sent+n])
		r.sent, r.used = r.sent+n, r.used+n
	}
	if r.send != nil && r.ended && !r.told && r.sent == len(r.buf) {
		r.told = true
		r.send(nil)
	}
	if !r.keep || r.muted {
		r.drop(r.sent)
	}
	r.moved.Broadcast()
}

// drop forgets the first n bytes, which have been sent.
func (r *ReplayBuffer) drop(n int) {
	r.buf, r.sent = r.buf[n:], r.sent-n
	if len(r.buf) == 0 {
		r.buf = nil
	}
}

// Confirm drops what the head has written.
func (r *ReplayBuffer) Confirm(w Written) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keep && r.written.before(w) {
		r.written = w
		r.trim()
	}
}

// trim drops what is out of what has been sent. A head counts lines as they
// come, so none is left out in between. It is called with mu held.
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
		if i := bytes.IndexByte(r.buf[:n], '\n'); i >= 0 { // a shorter line than the one that is out
			n = i
		}
		r.drop(n)
		r.first.Cut += n
	}
}

// Rewind prepares for another head, which is to get all from there on, and hears
// how much is out.
func (r *ReplayBuffer) Rewind() (from, out Written) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trim()
	r.send, r.sent, r.used, r.told = nil, 0, 0, false
	return r.first, r.written
}

// Play sends everything to a head.
func (r *ReplayBuffer) Play(send func([]byte)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.send = send
	r.push()
}
