package agentwire

import "sync"

// MaxWindow bounds the bytes of one stream that are under way between head and agent. So a
// stream that is not consumed delays no other stream.
const MaxWindow = 256 << 10

// Window is the sender's side of a bounded stream.
type Window struct {
	mu     sync.Mutex
	more   *sync.Cond
	used   int
	closed bool
}

// NewWindow returns a window without bytes under way.
func NewWindow() *Window {
	w := new(Window)
	w.more = sync.NewCond(&w.mu)
	return w
}

// Take waits for room for n bytes. It returns false if the window is closed.
func (w *Window) Take(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.used > 0 && w.used+n > MaxWindow && !w.closed {
		w.more.Wait()
	}
	w.used += n
	return !w.closed
}

// Give records that the other side has consumed n bytes.
func (w *Window) Give(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used -= n
	w.more.Broadcast()
}

// Close makes Take return false.
func (w *Window) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.more.Broadcast()
}
