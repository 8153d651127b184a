//go:build !linux

package limit

import "time"

// nap sleeps for d.
func nap(d time.Duration) { time.Sleep(d) }
