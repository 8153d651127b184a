package inproc

import (
	"sync"

	"github.com/intrahpc/intra/transport"
)

// end is how a direction ended.
type end int

const (
	endOpen end = iota
	endBye      // the sender's Shutdown: everything it sent is in the pipe
	endGone     // the sender ended without Shutdown, or the receiver left
)

// chunk is a piece of a frame on its way. If first and last are set it is the whole frame.
type chunk struct {
	header      transport.Header
	data        []byte
	first, last bool
}

// pipe is one direction: a bounded queue of chunks with one sender and one
// receiver.
type pipe struct {
	capacity int

	mu     sync.Mutex
	chunks []chunk
	head   int // chunks before it are taken
	used   int // bytes in chunks, and bytes that the sender has reserved
	wanted int // room that the last refused reserve asked for
	end    end
	free   [][]byte // buffers of taken chunks
}

// cost is the capacity that a chunk with n bytes of payload takes.
func cost(n int) int { return transport.HeaderSize + n }

// reserve makes room for a chunk of want bytes and returns a buffer for it. If part is set
// and there is less room, the chunk is shorter. ok is false when there is no room now; an
// empty pipe always has room for a part. open is false when the pipe has ended.
func (p *pipe) reserve(want int, part bool) (buf []byte, ok, open bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end != endOpen {
		return nil, false, false
	}
	room := p.capacity - p.used
	if part {
		if p.used == 0 {
			room = max(room, cost(1))
		}
		want = min(want, room-cost(0))
		if want <= 0 {
			p.wanted = cost(1)
			return nil, false, true
		}
	} else if cost(want) > room && p.used > 0 {
		p.wanted = cost(want)
		return nil, false, true
	}
	p.used += cost(want)
	for i, b := range p.free {
		if cap(b) >= want {
			last := len(p.free) - 1
			p.free[i] = p.free[last]
			p.free = p.free[:last]
			return b[:want], true, true
		}
	}
	// A buffer that is too small for this chunk is replaced by a larger one.
	if n := len(p.free); n > 0 {
		p.free = p.free[:n-1]
	}
	return make([]byte, want), true, true
}

// put publishes a chunk whose data are in memory from reserve. It returns false if the pipe
// has ended meanwhile.
func (p *pipe) put(pc chunk) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end != endOpen {
		return false
	}
	if p.head > 0 && len(p.chunks) == cap(p.chunks) {
		n := copy(p.chunks, p.chunks[p.head:])
		clear(p.chunks[n:])
		p.chunks, p.head = p.chunks[:n], 0
	}
	p.chunks = append(p.chunks, pc)
	return true
}

// take returns the next chunk. When the pipe is empty it returns how the pipe ended.
func (p *pipe) take() (pc chunk, ok bool, e end) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.head == len(p.chunks) {
		return chunk{}, false, p.end
	}
	pc = p.chunks[p.head]
	p.chunks[p.head] = chunk{}
	if p.head++; p.head == len(p.chunks) {
		p.chunks, p.head = p.chunks[:0], 0
	}
	return pc, true, endOpen
}

// release returns the room and the buffer of a chunk to the pipe.
func (p *pipe) release(data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.used -= cost(len(data))
	if cap(data) > 0 {
		p.free = append(p.free, data)
	}
}

// finish ends the pipe after the chunks that it holds. Only the first call has an effect.
func (p *pipe) finish(e end) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end == endOpen {
		p.end = e
	}
}

// readable reports whether take has a chunk, or the end, to return.
func (p *pipe) readable() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.head < len(p.chunks) || p.end != endOpen
}

// writable reports whether the reservation that was refused last may succeed now.
func (p *pipe) writable() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used == 0 || p.capacity-p.used >= p.wanted || p.end != endOpen
}
