package timeline

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Now returns the time of a monotonic clock that all processes of this host
// share, in nanoseconds.
func Now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // every Linux has this clock
	}
	return t.Nano()
}

// clockName identifies the clock that Now reads. Processes with different clocks get
// different names.
func clockName() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return hostName()
	}
	namespace, _ := os.Readlink("/proc/self/ns/time") // "" if all processes share one
	return string(bytes.TrimSpace(boot)) + namespace
}

// Resident returns the bytes of memory of this process that are in RAM, 0 if unknown.
func Resident() int64 {
	b, err := os.ReadFile("/proc/self/statm")
	fields := bytes.Fields(b)
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
