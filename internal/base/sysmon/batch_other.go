//go:build !linux

package sysmon

// Yield does nothing here.
func Yield() {}
