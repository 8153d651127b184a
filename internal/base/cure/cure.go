// Package cure adds to system errors what the user can do about them, where their
// own texts give only the cause: limits of the shell, and mount options of
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

// Signal describes, for a process killed by that signal, which limit it has
// exceeded; "" if no limit sends that signal.
func Signal(s syscall.Signal) string {
	switch s {
	case xfsz:
		return "a file became larger than the limit on file sizes: raise it (ulimit -f)"
	case xcpu:
		return "the limit on processor time is used up: raise it (ulimit -t)"
	}
	return ""
}

// WritesFail makes a write beyond the limit on file sizes return an error, where
// it would otherwise kill this process. It does not affect processes that this
// one starts.
func WritesFail() { writesFail() }
