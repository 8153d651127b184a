package head

import (
	"slices"
	"time"
)

// timer is an action that is due at a certain time.
type timer struct {
	at   time.Duration
	kind timerKind
	m    *member   // the process concerned, nil if none
	link linkDoubt // the link, for judgeLink
	kill int       // the index of the kill, for scheduledKill
}

// timerKind names the action that is due.
type timerKind uint8

const (
	killMember         timerKind = iota // kill a process that should have exited by itself
	killUnreachable                     // kill a process that lives without its control connection
	killEverybody                       // kill all processes, which should have exited by themselves
	abandonAll                          // end without the rest of the output, which may be blocked
	warnOfMissing                       // warn of processes that have not joined
	judgeLink                           // decide about a broken link, which may have been restored
	scheduledKill                       // a kill of -kill
	scheduledInjection                  // a kill of -fault weibull
	askAgain                            // try again to replace processes that could not be started
	leaveLate                           // end processes that could not leave in time
	judgeEndless                        // fence processes that outlast all others without progress
)

// after sets a timer that is due after d.
func (k *desk) after(d time.Duration, t timer) {
	t.at = k.now + d
	i, _ := slices.BinarySearchFunc(k.timers, t.at, func(o timer, at time.Duration) int {
		if o.at <= at {
			return -1 // never equal: timers of the same time keep their order
		}
		return 1
	})
	k.timers = slices.Insert(k.timers, i, t)
}

// Deadline returns when the next Tick is due. ok is false if none is.
func (k *desk) Deadline() (at time.Duration, ok bool) {
	if len(k.timers) == 0 {
		return 0, false
	}
	return k.timers[0].at, true
}
