//go:build linux

package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// stops returns a function that subscribes to the signals of Ctrl-Z. The function returns nil
// if this process began with these signals ignored.
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

// suspendTime bounds how long a process takes to stop. The first process of a container
// does not stop at all.
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
