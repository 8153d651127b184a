package head

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/recovery"
)

// timer is an action that is due at a certain time.
type timer struct {
	at   time.Duration
	kind timerKind
	m    *member   // the process that it is about, nil if none
	link linkDoubt // for judgeLink
	kill int       // for scheduledKill, its index
}

// timerKind names the action that is due.
type timerKind uint8

const (
	killMember         timerKind = iota // kill a process that should have exited by itself
	killDeaf                            // kill a process that lives without its control connection
	killEverybody                       // kill all processes; they should have exited by themselves
	abandonAll                          // end without the rest of the output, which may be blocked
	warnOfMissing                       // warn of processes that have not joined
	judgeLink                           // decide about a broken link, which may have been restored
	scheduledKill                       // a kill of -kill
	scheduledInjection                  // a kill of -fault weibull
	askAgain                            // request processes again that could not be started
	judgeEndless                        // fence processes that outlast all others without progress
)

// after sets a timer that is due after d.
func (h *Head) after(d time.Duration, t timer) {
	t.at = h.now + d
	i, _ := slices.BinarySearchFunc(h.timers, t.at, func(o timer, at time.Duration) int {
		if o.at <= at {
			return -1 // timers of the same time keep their order
		}
		return 1
	})
	h.timers = slices.Insert(h.timers, i, t)
}

// Deadline returns when the next Tick is due. ok is false if none is.
func (h *Head) Deadline() (at time.Duration, ok bool) {
	if len(h.timers) == 0 {
		return 0, false
	}
	return h.timers[0].at, true
}

// tick performs all actions that are due.
func (h *Head) tick() {
	for len(h.timers) > 0 && h.timers[0].at <= h.now {
		t := h.timers[0]
		h.timers = h.timers[1:]
		switch t.kind {
		case killMember:
			h.kill(t.m)
		case killDeaf:
			h.deaf(t.m)
		case killEverybody:
			h.killAll()
		case abandonAll:
			h.abandoned = true
		case warnOfMissing:
			h.warnMissing()
		case judgeLink:
			h.judge(t.link)
		case scheduledKill:
			h.killOnRequest(t.kill)
		case scheduledInjection:
			h.inject()
		case askAgain:
			h.notify((*recovery.Head).Again)
		case judgeEndless:
			h.judgeOutlasting()
		}
	}
}
