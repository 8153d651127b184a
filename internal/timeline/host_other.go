//go:build !linux

package timeline

import "time"

// Now is the time of this host's clock, in nanoseconds.
func Now() int64 { return time.Now().UnixNano() }

func clockName() string { return hostName() }

// Resident is not known here.
func Resident() int64 { return 0 }
