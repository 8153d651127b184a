package engine

import (
	"sync"
	"sync/atomic"
)

// steps is the progress that a program reports.
type steps struct {
	mu          sync.Mutex
	done, total int64
}

// set limits the values of the program to a valid range, because a wrong report must not
// make the program fail.
func (s *steps) set(done, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total = int64(max(total, 0))
	s.done = int64(max(done, 0))
	if s.total > 0 {
		s.done = min(s.done, s.total)
	}
}

func (s *steps) get() (done, total int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done, s.total
}

// arriving measures how much of its state a joiner has received.
type arriving struct{ bytes, of atomic.Uint64 }

// begin records the approximate number of bytes that will arrive.
func (a *arriving) begin(of uint64) {
	a.bytes.Store(0)
	a.of.Store(of)
}

// has records the number of bytes that have arrived.
func (a *arriving) has(bytes int) { a.bytes.Store(uint64(bytes)) }

// share returns the share that has arrived. The result is at most 1, although the state
// may grow during the transfer.
func (a *arriving) share() float64 {
	of := a.of.Load()
	if of == 0 {
		return 0
	}
	return min(float64(a.bytes.Load())/float64(of), 1)
}
