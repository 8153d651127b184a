//go:build !linux

package affinity

// Usable returns no cores: nothing is bound here.
func Usable() ([]Core, error) { return nil, nil }

// Allowed returns none: nothing is bound here.
func Allowed() ([]int, error) { return nil, nil }

// During calls f.
func During(_ []int, f func() error) error { return f() }

// Processor returns -1: it is not known here.
func Processor() int { return -1 }

// Elsewhere calls f.
func Elsewhere(_ int, f func()) { f() }
