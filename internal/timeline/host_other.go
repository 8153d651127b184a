//go:build !linux

package timeline

import "time"

// Now returns the time of this host's clock, in nanoseconds.
func Now() int64 { return time.Now().UnixNano() }

func clockName() string { return hostName() }

// Resident returns 0, which means unknown.
func Resident() int64 { return 0 }
