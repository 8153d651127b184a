//go:build !linux

package lease

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// Only on Linux do agents start processes, so elsewhere no process has a lease.

var errPlatform = fmt.Errorf("leases need Linux: %w", errors.ErrUnsupported)

func createPage() (*os.File, []byte, error) { return nil, nil, errPlatform }

func mapPage(*os.File) ([]byte, error) { return nil, errPlatform }

func unmap([]byte) error { return errPlatform }

var start = time.Now()

// Now returns the time since this process started.
func Now() time.Duration { return time.Since(start) }
