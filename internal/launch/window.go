package launch

import "sync"

// maxWindow bounds the bytes of one stream that are on their way between head
// and agent, so that one stream that nobody takes holds up no other.
const maxWindow = 256 << 10

// window is the sender's side of that bound.
type window struct {
	mu     sync.Mutex
	more   *sync.Cond
	used   int
	closed bool
}

func newWindow() *window {
	w := new(window)
	w.more = sync.NewCond(&w.mu)
	return w
}

// take waits for room for n bytes. It returns false if the other side is gone.
func (w *window) take(n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.used > 0 && w.used+n > maxWindow && !w.closed {
		w.more.Wait()
	}
	w.used += n
	return !w.closed
}

// give: the other side has taken n bytes.
func (w *window) give(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used -= n
	w.more.Broadcast()
}

func (w *window) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.more.Broadcast()
}

// inbox is the receiver's side: it hands pieces to a function that may block,
// one after another, an empty one at the end.
type inbox struct {
	mu    sync.Mutex
	some  *sync.Cond
	queue []piece
	ended bool
}

// piece is some bytes, or what is done when those before it were taken.
type piece struct {
	b    []byte
	then func()
}

func newInbox(take func([]byte)) *inbox {
	i := new(inbox)
	i.some = sync.NewCond(&i.mu)
	go func() {
		for {
			i.mu.Lock()
			for len(i.queue) == 0 {
				i.some.Wait()
			}
			p := i.queue[0]
			i.queue = i.queue[1:]
			i.mu.Unlock()
			if p.then != nil {
				p.then()
				continue
			}
			take(p.b)
			if len(p.b) == 0 {
				return
			}
		}
	}()
	return i
}

// put adds a piece; after an empty one nothing is added.
func (i *inbox) put(b []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ended {
		return
	}
	i.ended = len(b) == 0
	i.queue = append(i.queue, piece{b: b})
	i.some.Signal()
}

// then has f called when everything so far was taken. After the end it is not
// called any more.
func (i *inbox) then(f func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.ended {
		i.queue = append(i.queue, piece{then: f})
		i.some.Signal()
	}
}
