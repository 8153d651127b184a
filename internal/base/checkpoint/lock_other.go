//go:build !linux

package checkpoint

import "os"

// lockFile: jobs of several processes need Linux. One in a single process has its folder by
// name.
func lockFile(*os.File, bool) error { return errNoLocks }

// system: nothing is known of other processes.
func system() string { return "" }

func started(int) string { return "" }
