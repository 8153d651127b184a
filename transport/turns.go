package transport

import (
	"sync/atomic"
	"time"
)

// A turn is the time for which a waiter yields its core.
//
// If more processes run than there are cores, a waiter that only polls keeps the core from
// the peer that it waits for. So it yields the core between two polls. While all other
// processes wait too, it gets the core back in a microsecond, which is much cheaper than
// sleeping and waking. But a process that computes keeps the core for its whole time slice,
// and the kernel counts the waiter's slice as used. Then sleeping is better, since the
// kernel prefers a process that wakes to one that computes.
//
// If each process has a core, a waiter polls for a while before it takes turns. It does not
// sleep at once because waking an idle core takes long, and it yields because another job
// may want the core.

const (
	turnTime   = 500 * time.Microsecond // longest polling before a sleep while turns are short
	stayTime   = time.Millisecond       // longest polling before a sleep if each process has a core
	crowdTime  = 15 * time.Microsecond  // longest polling before a sleep while turns are long
	longTurn   = time.Millisecond       // minimum length of a long turn, with few processes
	workTime   = longTurn / 2           // minimum length for each process on the core, if there are many
	longest    = 4 * time.Millisecond   // upper bound of this length: of many processes some always compute
	freePolls  = 2                      // idle polls before the first turn
	firstPause = 2                      // number of waits without turns after a long turn
	otherPause = 64                     // number of these waits if another job has taken the core
	maxPause   = 64

	balanceEvery = 32 // turns of a process between two calls of balance
)

// turns is the state that the waiters of one process share about their turns.
type turns struct {
	crowded bool
	long    time.Duration // minimum length of a long turn, after which sleeping is better
	away    func()        // yields the core for a turn
	balance func()        // called from time to time during turns on crowded cores; nil: no call
	taken   atomic.Uint32
	// Number of waits without turns after the last long turn. Each long turn doubles it,
	// and each wait without a long turn halves it.
	pause atomic.Int32
	sits  atomic.Int32 // number of waits that still take no turns
}

// newTurns returns the state for one of the given number of processes on a host with the
// given number of cores.
func newTurns(processes, cores int, balance func()) turns {
	each := (processes + cores - 1) / cores
	return turns{crowded: processes > cores, long: min(max(longTurn, time.Duration(each)*workTime), longest), away: giveCore, balance: balance}
}

// turn is the state of one wait.
type turn struct {
	*turns
	on    bool
	later bool // the wait takes no turns before stay is called
}

// begin starts a wait and returns its state and how long it polls first. If each process
// has a core, the wait takes turns only when stays is set, and only after that time.
func (t *turns) begin(spin time.Duration, stays bool) (turn, time.Duration) {
	switch {
	case !t.crowded && !stays:
		return turn{}, spin
	case t.sits.Load() > 0:
		t.sits.Add(-1)
		if t.crowded {
			spin = min(spin, crowdTime)
		}
		return turn{}, spin
	case t.crowded:
		return turn{turns: t, on: true}, turnTime
	}
	return turn{turns: t, later: true}, spin
}

// stay is called when a wait has polled for the time that begin returned. It returns for
// how much longer the wait polls, and 0 if it must sleep.
func (t *turn) stay() time.Duration {
	if !t.later {
		return 0
	}
	t.on, t.later = true, false
	return stayTime
}

// give yields the core after an idle poll, and reports whether the wait continues
// to poll.
func (t *turn) give(idle int) bool {
	if !t.on || idle <= freePolls {
		return true
	}
	before := time.Now()
	t.away()
	if time.Since(before) < t.long {
		if t.balance != nil && t.crowded && t.taken.Add(1)%balanceEvery == 0 {
			t.balance()
		}
		return true
	}
	t.on = false
	first := int32(firstPause)
	if !t.crowded {
		first = otherPause
	}
	pause := min(max(2*t.pause.Load(), first), maxPause)
	t.pause.Store(pause)
	t.sits.Store(pause)
	return false
}

// end records that the wait has succeeded.
func (t *turn) end() {
	if t.on {
		if p := t.pause.Load(); p > 0 {
			t.pause.Store(p / 2)
		}
	}
}
