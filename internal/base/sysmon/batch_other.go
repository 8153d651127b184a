//go:build !linux

package sysmon

// Yield does nothing on this system.
func Yield() {}
