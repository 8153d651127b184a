//go:build !linux

package supervise

// asBatch calls f.
func asBatch(f func() error) error { return f() }
