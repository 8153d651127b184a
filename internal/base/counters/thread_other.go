//go:build !linux

package counters

import "time"

// OnThread calls f and returns how long this has taken.
func OnThread(f func()) time.Duration {
	from := time.Now()
	f()
	return time.Since(from)
}
