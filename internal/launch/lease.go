package launch

import (
	"time"

	"golang.org/x/sys/unix"
)

// A host is declared lost when nothing has been heard from its agent for
// silenceTime. By then none of its processes acts any more:
//
// The agent sends a beat every beatEvery, the head answers each. A beat that
// was answered gives the agent a lease of leaseTime from the moment at which it
// was sent. At its end the agent kills its processes and itself; if it is
// stopped, its guard does so guardTime later. The head answers no beat once it
// has declared the host lost, so the last one that it can have answered was
// sent before it was heard, and that lease is over within leaseTime+guardTime
// of hearing it. The rest is for clocks that run at different speeds and for
// processes that are still being killed:
//
//	silenceTime = leaseTime + guardTime + marginTime < 1 s
//
// A connection that ends proves nothing, and waits for the same time.
const (
	beatEvery   = 100 * time.Millisecond
	leaseTime   = 650 * time.Millisecond
	guardTime   = 50 * time.Millisecond
	marginTime  = 200 * time.Millisecond
	silenceTime = leaseTime + guardTime + marginTime

	// doubtTime of silence is enough not to trust what others say of the host.
	doubtTime = 3 * beatEvery
)

// monotonic is a clock that all processes of a host share, in nanoseconds.
func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // never fails
	return t.Nano()
}
