//go:build linux

package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/base/proc"
)

// hold stops a process that a command has started, directly or not, for a random time of at
// most longest. It repeats that after a random pause of the same length, until stop is called.
// stop returns how often it has stopped a process.
func hold(command int, longest time.Duration) (stop func() int) {
	over, times := make(chan struct{}), make(chan int)
	pause := func() (more bool) {
		select {
		case <-over:
			return false
		case <-time.After(rand.N(longest) + 1):
			return true
		}
	}
	go func() {
		n := 0
		for pause() {
			all := descendants(command)
			if len(all) == 0 {
				continue
			}
			pid := all[rand.N(len(all))]
			proc.Signal(pid, syscall.SIGSTOP)
			n++
			more := pause()
			proc.Signal(pid, syscall.SIGCONT)
			if !more {
				break
			}
		}
		times <- n
	}()
	return func() int { close(over); return <-times }
}

// descendants returns the processes that a process has started, directly or indirectly.
func descendants(of int) (all []int) {
	children := make(map[int][]int)
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the process has ended
		}
		// The line is: pid (name) state parent …. The name may contain any characters.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		pid, err1 := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if len(fields) < 2 || err1 != nil {
			continue
		}
		if parent, err := strconv.Atoi(fields[1]); err == nil {
			children[parent] = append(children[parent], pid)
		}
	}
	for next := children[of]; len(next) > 0; next = next[1:] {
		all = append(all, next[0])
		next = append(next, children[next[0]]...)
	}
	return all
}
