package lease

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now is the time of this host's clock of leases. It starts at some point
// before the process did, is the same for all processes of the host, is never
// set, and counts the time in which the machine is suspended: a host that
// sleeps must not find its lease still good when it wakes.
func Now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic("lease: no clock: " + err.Error()) // Linux has had it since 2.6.39
	}
	return time.Duration(t.Nano())
}

// Wait returns how long the giver of a lease of length d has to wait, by its
// own clock, before the lease has certainly ended by the holder's.
//
// Let both clocks run at a rate between 1-drift and 1+drift of true time. The
// holder counts from the moment at which it asked, which is before the giver
// answered, so its lease ends at most d/(1-drift) of true time after the
// answer. A wait of w lasts at least w/(1+drift) of true time. Hence
//
//	w >= d * (1+drift) / (1-drift)
func Wait(d time.Duration, drift float64) time.Duration {
	return time.Duration(float64(d)*(1+drift)/(1-drift)) + 1
}
