// Package cure adds to errors of the system what the user can do about them, where their
// own texts name only what is wrong: limits of the shell, and how folders are mounted.
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

// Signal says what a process has done that was killed by such a signal, if a limit has sent
// it: "" if none sends that.
func Signal(s syscall.Signal) string {
	switch s {
	case xfsz:
		return "a file became larger than the limit on file sizes: raise it (ulimit -f)"
	case xcpu:
		return "the limit on processor time is used up: raise it (ulimit -t)"
	}
	return ""
}

// WritesFail has a write beyond the limit on file sizes fail, which its caller can tell of,
// where it would end this process. Processes that it starts are not affected.
func WritesFail() { writesFail() }
