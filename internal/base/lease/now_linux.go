package lease

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now returns the time of this host's clock of leases. The clock is the same for all
// processes of the host, is never set, and was running before the process started. It also
// counts the time while the machine is suspended: a host that resumes must not consider an
// old lease valid.
func Now() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		panic("lease: no clock: " + err.Error()) // Linux has this clock since 2.6.39
	}
	return time.Duration(t.Nano())
}
