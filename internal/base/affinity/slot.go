package affinity

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// restTime is how long a process stays after a move: another job may use the
// processor as well, and a move costs more than a few turns.
const restTime = 2 * time.Millisecond

// Slot is the slot of one process on the board of its host. The methods of a nil
// *Slot, of a process without one, do nothing.
//
// The kernel leaves processes that yield their core again and again where their
// caches are. Of four processes it keeps three on one core for many milliseconds,
// while the fourth has the other core to itself; then the three wait one turn
// more than necessary. So a process that takes turns reads the board, and moves
// to where fewer processes are.
type Slot struct {
	own   *atomic.Uint32
	used  *atomic.Uint32  // how many entries of all may belong to a process
	all   []atomic.Uint32 // includes own
	cores []int           // processors that this process was allowed to run on when it began
	here  func() int      // Processor, except in tests
	move  func(processor int) bool

	mu    sync.Mutex // Balance does nothing while another goroutine holds it
	on    []int      // number of processes on each processor
	moved time.Time  // time of the last move of this process
}

func newSlot(own, used *atomic.Uint32, all []atomic.Uint32, cores []int) *Slot {
	return &Slot{own: own, used: used, all: all, cores: cores, here: Processor, move: move, on: make([]int, slices.Max(cores)+1)}
}

// Balance records on which processor this process runs. If that processor has at
// least two more processes than another one that this process may run on, the
// process moves there. It records the move first, so the next reader sees it, and
// two processes do not move for the same reason.
func (s *Slot) Balance() {
	if s == nil || len(s.cores) < 2 || !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	here := s.here()
	if here < 0 || here >= len(s.on) { // it was bound to other processors meanwhile
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

// say records the processor in this process's word. It writes only a change, so
// that the word stays in the caches of the other processes.
func (s *Slot) say(processor int) {
	if w := uint32(processor + 1); s.own.Load() != w {
		s.own.Store(w)
	}
}
