package launch

import (
	"bytes"
	"sync"

	"github.com/intrahpc/intra/internal/job"
)

// written says how much of a stream of a rank is out: so many lines, and of the
// next one so many bytes.
type written struct {
	Stream stream `json:"stream"`
	Lines  int    `json:"lines"`
	Cut    int    `json:"cut,omitempty"`
}

// before reports whether less is out by w than by v.
func (w written) before(v written) bool {
	return w.Lines < v.Lines || w.Lines == v.Lines && w.Cut < v.Cut
}

// maxPiece bounds the bytes of output in one frame.
const maxPiece = 32 << 10

// tape is one stream of a process as its agent has it. What the head has is
// dropped; where another head may follow, only what the head has written, so
// that nothing is lost with a head. A head is sent no more than it has room for.
type tape struct {
	process job.Process
	stream  stream
	keep    bool

	mu    sync.Mutex
	moved *sync.Cond
	mux   *mux // of the head, nil while there is none
	buf   []byte
	first written // where buf begins
	out   written // what is out
	sent  int     // bytes of buf that the head has been sent
	used  int     // bytes that it has not made room for
	ended bool
	told  bool // the head knows that it has ended
}

func newTape(p job.Process, s stream, m *mux, keep bool) *tape {
	t := &tape{process: p, stream: s, keep: keep, mux: m}
	t.moved = sync.NewCond(&t.mu)
	return t
}

// write takes what the process writes, nothing at the end. It blocks while the
// head is far behind.
func (t *tape) write(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = t.ended || len(b) == 0
	t.buf = append(t.buf, b...)
	t.push()
	for len(t.buf)-t.sent > maxWindow {
		t.moved.Wait()
	}
}

// drain waits until the head has been sent everything.
func (t *tape) drain() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.sent < len(t.buf) {
		t.moved.Wait()
	}
}

// room: the head has taken n bytes.
func (t *tape) room(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used -= n
	t.push()
}

// push sends what may be sent now. It is called with mu held.
func (t *tape) push() {
	for t.mux != nil && t.sent < len(t.buf) {
		n := min(len(t.buf)-t.sent, maxPiece)
		if t.used > 0 && t.used+n > maxWindow {
			break
		}
		t.mux.send(frameOutput, t.process, append([]byte{byte(t.stream)}, t.buf[t.sent:t.sent+n]...))
		t.sent, t.used = t.sent+n, t.used+n
	}
	if t.mux != nil && t.ended && !t.told && t.sent == len(t.buf) {
		t.told = true
		t.mux.send(frameOutput, t.process, []byte{byte(t.stream)})
	}
	if !t.keep {
		t.drop(t.sent)
	}
	t.moved.Broadcast()
}

// drop forgets the first n bytes, which have been sent.
func (t *tape) drop(n int) {
	t.buf, t.sent = t.buf[n:], t.sent-n
	if len(t.buf) == 0 {
		t.buf = nil
	}
}

// confirm: the head has written so much.
func (t *tape) confirm(w written) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.keep && t.out.before(w) {
		t.out = w
		t.trim()
	}
}

// trim drops what is out of what has been sent. A head counts lines as they
// come, so none is left out in between. It is called with mu held.
func (t *tape) trim() {
	for t.first.Lines < t.out.Lines {
		i := bytes.IndexByte(t.buf[:t.sent], '\n')
		if i < 0 {
			return
		}
		t.drop(i + 1)
		t.first.Lines, t.first.Cut = t.first.Lines+1, 0
	}
	if t.first.before(t.out) {
		n := min(t.out.Cut-t.first.Cut, t.sent)
		if i := bytes.IndexByte(t.buf[:n], '\n'); i >= 0 { // a shorter line than the one that is out
			n = i
		}
		t.drop(n)
		t.first.Cut += n
	}
}

// rewind prepares for another head, which is to get all from there on.
func (t *tape) rewind() written {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trim()
	t.mux, t.sent, t.used, t.told = nil, 0, 0, false
	return t.first
}

// play sends everything to a head.
func (t *tape) play(m *mux) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mux = m
	t.push()
}
