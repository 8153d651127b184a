package affinity

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// restTime is the least time between two moves of a process. Another job may use the
// processors as well, and a move costs more than a few turns.
const restTime = 2 * time.Millisecond

// Slot is the slot of one process on the board of its host. A process without a slot has a
// nil *Slot, whose methods do nothing.
//
// A process that yields its core often stays on it for long, because the kernel keeps it
// near its caches. Of four processes the kernel may keep three on one core for many
// milliseconds, while the fourth has the other core to itself. Then each of the three
// waits for two others instead of one. So a process that yields reads the board, and moves
// to a processor with fewer processes.
type Slot struct {
	own   *atomic.Uint32
	used  *atomic.Uint32  // number of leading entries of all that may belong to processes
	all   []atomic.Uint32 // the words of all slots, including own
	cores []int           // processors on which this process was allowed to run at its start
	here  func() int      // Processor, except in tests
	move  func(processor int) bool

	mu    sync.Mutex // locked by Balance, which does nothing if another goroutine holds it
	on    []int      // number of processes on each processor
	moved time.Time  // time of the last move of this process
}

func newSlot(own, used *atomic.Uint32, all []atomic.Uint32, cores []int) *Slot {
	return &Slot{own: own, used: used, all: all, cores: cores, here: Processor, move: move, on: make([]int, slices.Max(cores)+1)}
}

// Balance records on which processor this process runs. If that processor has at least two
// more processes than another one that this process may run on, the process moves there.
// It records the move before it moves. So the next reader sees it, and two processes do
// not move for the same reason.
func (s *Slot) Balance() {
	if s == nil || len(s.cores) < 2 || !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	here := s.here()
	if here < 0 || here >= len(s.on) { // the process was bound to other processors meanwhile
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

// say records the processor in this process's word. It writes only if the value changes,
// so that the word stays in the caches of the other processes.
func (s *Slot) say(processor int) {
	if w := uint32(processor + 1); s.own.Load() != w {
		s.own.Store(w)
	}
}
