package affinity

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// restTime is how long a process stays where it has moved to: another job may want that
// processor as well, and a move costs more than a few turns.
const restTime = 2 * time.Millisecond

// Slot is the place of one process on the board of its host. A nil *Slot, of a process
// that has none, does nothing.
//
// The kernel has processes that give their core away again and again stay where their
// caches are: it leaves three of four on one core for many milliseconds while the fourth
// has the other to itself, and the three take turns that are longer by one. So who takes
// turns looks at the board, and moves to where fewer are.
type Slot struct {
	own   *atomic.Uint32
	used  *atomic.Uint32  // how many of all may belong to somebody
	all   []atomic.Uint32 // own among them
	cores []int           // processors that this process may run on, as it began
	here  func() int      // Processor and move, except in tests
	move  func(processor int) bool

	mu    sync.Mutex // a waiter that finds it taken does not wait
	on    []int      // how many processes are on each processor
	moved time.Time  // when this one moved last
}

func newSlot(own, used *atomic.Uint32, all []atomic.Uint32, cores []int) *Slot {
	return &Slot{own: own, used: used, all: all, cores: cores, here: Processor, move: move, on: make([]int, slices.Max(cores)+1)}
}

// Balance says on which processor this process runs. If there are two or more processes
// more than on another one that it may run on, it moves there: who looks next sees it
// there, so no two move for one reason.
func (s *Slot) Balance() {
	if s == nil || len(s.cores) < 2 || !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	here := s.here()
	if here < 0 || here >= len(s.on) { // it was bound to others meanwhile
		return
	}
	s.say(here)
	clear(s.on)
	for i := range s.all[:min(int(s.used.Load()), len(s.all))] {
		if at := int(s.all[i].Load()) - 1; at >= 0 && at < len(s.on) {
			s.on[at]++
		}
	}
	to := s.cores[0]
	for _, c := range s.cores {
		if s.on[c] < s.on[to] {
			to = c
		}
	}
	if s.on[here] < s.on[to]+2 || time.Since(s.moved) < restTime {
		return
	}
	s.say(to)
	if !s.move(to) {
		s.say(here)
	}
	s.moved = time.Now()
}

// say writes the processor into this process's word, which is in the caches of the others
// as long as it does not change.
func (s *Slot) say(processor int) {
	if w := uint32(processor + 1); s.own.Load() != w {
		s.own.Store(w)
	}
}
