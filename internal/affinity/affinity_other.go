//go:build !linux

package affinity

// Usable returns no cores: nothing is bound here.
func Usable() ([]Core, error) { return nil, nil }

// During calls f.
func During(_ []int, f func() error) error { return f() }
