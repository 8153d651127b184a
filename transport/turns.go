package transport

import (
	"sync/atomic"
	"time"
)

// Where more processes run than there are cores, a waiter that only looks keeps the
// core from the peer that it waits for. So it gives the core away between two looks,
// which brings it back in a microsecond while all others wait too, and is much cheaper
// than to sleep and be woken. But a process that computes keeps the core for its whole
// time slice, and the kernel counts the waiter's as used: then it is better to sleep,
// since who wakes is preferred to who computes.
//
// Where each process has a core a waiter goes on so once it has only looked for a while:
// to wake a core that has gone to rest takes long, and another job may want this one.

const (
	turnTime   = 500 * time.Microsecond // how long to look before a sleep, while turns are short
	stayTime   = time.Millisecond       // and with a core for each process
	crowdTime  = 15 * time.Microsecond  // and while they are not
	longTurn   = time.Millisecond       // one that long at least is
	workTime   = longTurn / 2           // and this long for each process that shares the core,
	longest    = 4 * time.Millisecond   // up to here: of many, some always compute
	freePolls  = 2                      // idle polls before the first turn
	firstPause = 2                      // waits without turns after a long one
	otherPause = 64                     // the same where only another job can be to blame
	maxPause   = 64

	balanceEvery = 32 // turns of a process from one call of balance to the next
)

// turns are those that the waiters of one process take with other processes.
type turns struct {
	crowded bool
	long    time.Duration // of a turn: it is better to sleep
	away    func()        // gives the core away for a turn
	balance func()        // called now and then by who takes turns where it is crowded; nil: there is none
	taken   atomic.Uint32
	pause   atomic.Int32 // how many waits the next long turn costs, doubled by each and halved by each wait that none spoilt
	sits    atomic.Int32 // waits that still take no turns
}

// newTurns returns those of one of so many processes on so many cores.
func newTurns(processes, cores int, balance func()) turns {
	each := (processes + cores - 1) / cores
	return turns{crowded: processes > cores, long: min(max(longTurn, time.Duration(each)*workTime), longest), away: giveCore, balance: balance}
}

// turn is what one wait knows.
type turn struct {
	*turns
	on    bool
	later bool // on when it stays
}

// begin returns the turns of a wait, and for how long it looks. Where each process has a
// core it takes turns only if it may stay after that.
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

// stay is asked when a wait has looked for as long as begin said, and returns for how
// long it goes on; 0: it does not.
func (t *turn) stay() time.Duration {
	if !t.later {
		return 0
	}
	t.on, t.later = true, false
	return stayTime
}

// give gives the core away after an idle poll, and reports whether the wait goes on
// to look.
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

// end notes that what was waited for has come.
func (t *turn) end() {
	if t.on {
		if p := t.pause.Load(); p > 0 {
			t.pause.Store(p / 2)
		}
	}
}
