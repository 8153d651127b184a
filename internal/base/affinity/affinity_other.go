//go:build !linux

package affinity

import (
	"errors"
	"fmt"
	"os"
)

// Usable returns no cores, because processes are not bound on this system.
func Usable() ([]Core, error) { return nil, nil }

// Allowed returns no processors, because processes are not bound on this system.
func Allowed() ([]int, error) { return nil, nil }

// During calls f.
func During(_ []int, f func() error) error { return f() }

// Processor returns -1, which means unknown.
func Processor() int { return -1 }

// Elsewhere calls f.
func Elsewhere(_ int, f func()) { f() }

var errPlatform = fmt.Errorf("a board of processes needs Linux: %w", errors.ErrUnsupported)

// OpenSlot returns an error, because there is no board on this system.
func OpenSlot(*os.File, int) (*Slot, error) { return nil, errPlatform }

func move(int) bool { return false }
