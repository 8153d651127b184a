package agentwire

import "sync"

// Inbox is the receiver's side of a Window. It passes pieces in order to a function that may
// block. An empty piece marks the end.
type Inbox struct {
	mu    sync.Mutex
	some  *sync.Cond
	queue []piece
	ended bool
}

// piece is bytes to pass on, or a function to call when the bytes before it have been
// consumed.
type piece struct {
	b    []byte
	then func()
}

// NewInbox returns an inbox that hands pieces to take.
func NewInbox(take func([]byte)) *Inbox {
	i := new(Inbox)
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

// Put adds a piece. After an empty piece, Put does nothing.
func (i *Inbox) Put(b []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ended {
		return
	}
	i.ended = len(b) == 0
	i.queue = append(i.queue, piece{b: b})
	i.some.Signal()
}

// Then calls f once all pieces so far have been consumed. After the end it does
// nothing.
func (i *Inbox) Then(f func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.ended {
		i.queue = append(i.queue, piece{then: f})
		i.some.Signal()
	}
}
