//go:build linux

package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// stops returns the signals of Ctrl-Z from now on, nil if this process began with them
// ignored.
func stops(ignored bool) func() <-chan os.Signal {
	return func() <-chan os.Signal {
		if ignored {
			return nil
		}
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTSTP)
		return c
	}
}

// suspendTime is how long a process takes at most to stop. It does not stop at all as the
// first process of a container.
const suspendTime = time.Second

// suspend stops this process until it is continued, as the shell's fg and bg do.
func suspend() {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if syscall.Kill(os.Getpid(), syscall.SIGSTOP) != nil {
		return
	}
	select {
	case <-continued:
	case <-time.After(suspendTime):
	}
}
