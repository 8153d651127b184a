// Package cure adds to system errors what the user can do about them. The texts of the
// system give only the cause. The cures concern limits of the shell, and mount options of
// folders.
package cure

import (
	"errors"
	"fmt"
	"syscall"
)

// Write explains why a file could not be written.
func Write(err error) error {
	if !errors.Is(err, syscall.EFBIG) {
		return err
	}
	return fmt.Errorf("%w: %s", err, fileSize())
}

// Start explains why a program could not be started.
func Start(err error, path string) error {
	switch {
	case errors.Is(err, syscall.EAGAIN):
		return fmt.Errorf("%w: %s", err, processes())
	case errors.Is(err, syscall.EACCES):
		if why := notExecutable(path); why != "" {
			return fmt.Errorf("%w: %s", err, why)
		}
	}
	return err
}

// Signal describes, for a process killed by a signal, which limit the process has
// exceeded. It returns "" for signals that no limit causes.
func Signal(s syscall.Signal) string {
	switch s {
	case xfsz:
		return "a file became larger than the limit on file sizes: raise it (ulimit -f)"
	case xcpu:
		return "the limit on processor time is used up: raise it (ulimit -t)"
	}
	return ""
}

// WritesFail makes a write beyond the limit on file sizes return an error. Without it such
// a write kills this process. Processes that this one starts are not affected.
func WritesFail() { writesFail() }
