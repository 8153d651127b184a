//go:build !linux

package checkpoint

import "os"

// lockFile returns errNoLocks: jobs of several processes need Linux, and a job in
// a single process holds its folder by name.
func lockFile(*os.File, bool) error { return errNoLocks }

// system returns "": other processes are unknown here.
func system() string { return "" }

func started(int) string { return "" }
