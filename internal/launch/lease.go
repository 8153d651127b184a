package launch

import (
	"time"

	"golang.org/x/sys/unix"
)

// A host is declared lost when nothing has been heard from its agent for at
// least silenceTime. By then none of its processes acts any more:
//
// The agent sends a beat every beatEvery, the head answers each. A beat that
// was answered gives the agent a lease of leaseTime from the moment at which it
// was sent. When that is over the guard of the host stops its processes. The
// head answers no beat once it has declared the host lost, so the last one that
// it can have answered was sent before it was heard, and that lease is over
// within leaseTime of hearing it. The rest is for clocks that run at different
// speeds, and for a guard that is late:
//
//	silenceTime = leaseTime + marginTime < 1 s
//
// A connection that ends proves nothing, and waits for the same time. A lease
// that is over is a pause, no death: a host that was merely slow goes on with
// the next answer. Where none comes, the agent kills its processes and ends
// after abandonBeats beats of its own, or when the head has ended the
// connection; and the guard does so for an agent that cannot, at abandonTime.
const (
	beatEvery   = 100 * time.Millisecond
	leaseTime   = 650 * time.Millisecond
	marginTime  = 250 * time.Millisecond
	silenceTime = leaseTime + marginTime

	abandonBeats = 40
	abandonTime  = 2 * abandonBeats * beatEvery

	// doubtTime of silence is enough not to trust what others say of the host.
	doubtTime = 3 * beatEvery

	// A host whose beats have come irregularly is allowed patience times the
	// longest of its late pauses, up to maxSilence.
	patience   = 4
	maxSilence = 4 * time.Second
)

// quiet measures how long nothing has been heard of a host. Time in which the
// observer itself did not run does not count.
type quiet struct {
	last    time.Time     // when it was looked at
	silent  time.Duration // counted since the last beat
	longest time.Duration // silence before a beat, forgotten slowly
}

// beat: the host has been heard.
func (q *quiet) beat() {
	q.longest = max(q.silent, q.longest-q.longest/100)
	q.silent = 0
}

// look counts the time since the last look, of which at most step is believed.
// It reports whether the silence is too long.
func (q *quiet) look(now time.Time, step time.Duration) bool {
	if !q.last.IsZero() {
		q.silent += min(now.Sub(q.last), step)
	}
	q.last = now
	return q.silent > min(max(silenceTime, patience*q.longest), maxSilence)
}

// monotonic is a clock that all processes of a host share, in nanoseconds.
func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // never fails
	return t.Nano()
}
