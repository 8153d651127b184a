package engine

import (
	"sync"
	"sync/atomic"
)

// steps is how far a program says that it is.
type steps struct {
	mu          sync.Mutex
	done, total int64
}

// set takes what makes sense of the program's words: it may not fail for them.
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

// arriving is how much of its state a joiner has got, which comes over one link.
type arriving struct{ bytes, of atomic.Uint64 }

// begin: about so many bytes will come.
func (a *arriving) begin(of uint64) {
	a.bytes.Store(0)
	a.of.Store(of)
}

// has: so many have.
func (a *arriving) has(bytes int) { a.bytes.Store(uint64(bytes)) }

// share is from 0 to 1. The state may grow while it is on its way.
func (a *arriving) share() float64 {
	of := a.of.Load()
	if of == 0 {
		return 0
	}
	return min(float64(a.bytes.Load())/float64(of), 1)
}
