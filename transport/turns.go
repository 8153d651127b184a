package transport

import (
	"sync/atomic"
	"time"
)

// Where more processes run than there are cores, a waiter that only polls keeps
// the core from the peer that it waits for. So it yields the core between two
// polls. While all other processes wait too, it gets the core back in a
// microsecond, which is much cheaper than sleeping and waking. But a process that
// computes keeps the core for its whole time slice, and the kernel counts the
// waiter's slice as used. Then it is better to sleep, since the kernel prefers a
// process that wakes to one that computes.
//
// Where each process has a core, a waiter takes turns only after it has polled
// for a while: waking a core that has gone idle takes long, but another job may
// want this one.

const (
	turnTime   = 500 * time.Microsecond // longest polling before a sleep while turns are short
	stayTime   = time.Millisecond       // the same where each process has a core
	crowdTime  = 15 * time.Microsecond  // the same while turns are long
	longTurn   = time.Millisecond       // least length of a long turn of few processes
	workTime   = longTurn / 2           // of many, this for each process that shares the core
	longest    = 4 * time.Millisecond   // bound on that length: of many processes, some always compute
	freePolls  = 2                      // idle polls before the first turn
	firstPause = 2                      // waits without turns after a long one
	otherPause = 64                     // the same if only another job can be the cause
	maxPause   = 64

	balanceEvery = 32 // turns of a process between two calls of balance
)

// turns is the state of the turns that the waiters of one process take with other
// processes.
type turns struct {
	crowded bool
	long    time.Duration // least length of a long turn, after which sleeping is better
	away    func()        // yields the core for a turn
	balance func()        // called now and then by a waiter that takes turns where it is crowded; nil: none
	taken   atomic.Uint32
	pause   atomic.Int32 // number of waits without turns after the last long turn: doubled by each long turn, halved by each wait without one
	sits    atomic.Int32 // number of waits that still take no turns
}

// newTurns returns the turns of one of processes processes on cores cores.
func newTurns(processes, cores int, balance func()) turns {
	each := (processes + cores - 1) / cores
	return turns{crowded: processes > cores, long: min(max(longTurn, time.Duration(each)*workTime), longest), away: giveCore, balance: balance}
}

// turn is the state of one wait.
type turn struct {
	*turns
	on    bool
	later bool // the turns begin only if the wait stays
}

// begin returns the turns of a wait, and for how long it polls. Where each
// process has a core, the wait takes turns only if it may stay after that.
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

// stay is called when a wait has polled for the time of begin. It returns for how
// much longer the wait continues; 0: it does not.
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
