package head

import (
	"slices"
	"time"
)

// timer is something that is due at a time.
type timer struct {
	at   time.Duration
	kind timerKind
	m    *member   // whom it is about, if anybody
	link linkDoubt // for judgeLink
	kill int       // for scheduledKill, its index
}

// timerKind says what is due.
type timerKind uint8

const (
	killMember         timerKind = iota // it should have gone by itself
	killDeaf                            // it lives on without its control connection
	killEverybody                       // they should have gone by themselves
	abandonAll                          // the output may have nowhere to go
	warnOfMissing                       // who has not joined
	judgeLink                           // which may have been restored
	scheduledKill                       // of -kill
	scheduledInjection                  // of -fault weibull
	askAgain                            // for processes that could not be had
	judgeEndless                        // processes that outlast all others
)

// after notes that something is due after d.
func (h *Head) after(d time.Duration, t timer) {
	t.at = h.now + d
	i, _ := slices.BinarySearchFunc(h.timers, t.at, func(o timer, at time.Duration) int {
		if o.at <= at {
			return -1 // of two at one time the first goes first
		}
		return 1
	})
	h.timers = slices.Insert(h.timers, i, t)
}

// Deadline says when the next Tick is due. ok is false if none is.
func (h *Head) Deadline() (at time.Duration, ok bool) {
	if len(h.timers) == 0 {
		return 0, false
	}
	return h.timers[0].at, true
}

// tick does all that is due.
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
			h.notify(news{kind: newsAgain})
		case judgeEndless:
			h.judgeOutlasting()
		}
	}
}
