//go:build !linux

package checkpoint

import "os"

// lockFile returns errNoLocks on this system. Jobs of several processes need Linux, and a
// job in a single process holds its folder by the file owner.
func lockFile(*os.File, bool) error { return errNoLocks }

// system returns "", which means unknown.
func system() string { return "" }

func started(int) string { return "" }
