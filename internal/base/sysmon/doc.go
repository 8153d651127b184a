// Package sysmon keeps the monitor of the Go runtime, which is a thread of its
// own, from interrupting computation where a process has one core.
package sysmon
