package lease

import "time"

// Wait returns how long the grantor of a lease of length d has to wait, by its own clock,
// until the lease has certainly ended by the holder's clock.
//
// Let both clocks run at a rate between 1-drift and 1+drift of true time. The holder
// counts from the moment of its request, which is before the grantor's answer. So its
// lease ends at most d/(1-drift) of true time after the answer. A wait of w lasts at least
// w/(1+drift) of true time. Hence the wait must be at least d * (1+drift) / (1-drift).
//
//	w >= d * (1+drift) / (1-drift)
func Wait(d time.Duration, drift float64) time.Duration {
	return time.Duration(float64(d)*(1+drift)/(1-drift)) + 1
}
