package jobtest

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// quitTime bounds how long a process may take to report its waits.
const quitTime = 5 * time.Second

// dump makes all processes of a job report their waits. The reports end the processes. The
// report of the first process, intrarun itself, goes to its usual output.
func dump(all []Process, first int) string {
	// First stop the processes that read the output of the ranks. They would read the
	// reports of the ranks, and lose them when they end.
	for _, p := range all {
		if !p.Rank {
			p.signal(syscall.SIGSTOP)
		}
	}
	for end := time.Now().Add(quitTime); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if !slices.ContainsFunc(all, func(p Process) bool { return !p.Rank && p.runs() }) {
			break
		}
	}
	words := make([]string, len(all))
	var asked sync.WaitGroup
	for i, p := range all {
		if p.Rank {
			asked.Go(func() { words[i] = p.quit() })
		}
	}
	asked.Wait()
	for i, p := range all {
		switch {
		case p.PID == first:
			words[i] = "(see what intrarun said)\n"
			p.signal(syscall.SIGABRT) // for this process SIGQUIT would only print the status
			p.signal(syscall.SIGCONT)
		case !p.Rank && p.Name != watchdogName:
			asked.Go(func() { words[i] = p.quit() })
		}
	}
	for end := time.Now().Add(quitTime); alive(first) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	asked.Wait()
	var waits, stacks strings.Builder
	for i, p := range all {
		fmt.Fprintf(&stacks, "\n=== %v\n%s", p, words[i])
		fmt.Fprintf(&waits, "%v\n", p)
		head, _, _ := strings.Cut(words[i], "\n\n")
		for line := range strings.Lines(head) {
			if p.Rank {
				fmt.Fprintf(&waits, "    %s", line)
			}
		}
		waits.WriteByte('\n')
	}
	return "WAITS OF THE PROCESSES\n" + waits.String() + "\nSTACKS" + stacks.String()
}

// quit makes a process write its stacks, and returns the text from its standard error if
// that is a pipe. Any other reader of the pipe is stopped.
func (p Process) quit() string {
	name := fmt.Sprintf("/proc/%d/fd/2", p.PID)
	var pipe *os.File
	if target, err := os.Readlink(name); err == nil && strings.HasPrefix(target, "pipe:") {
		if pipe, err = os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0); err == nil {
			defer pipe.Close()
		}
	}
	p.signal(syscall.SIGQUIT)
	p.signal(syscall.SIGCONT)
	if pipe == nil {
		return ""
	}
	until := time.Now().Add(quitTime)
	_ = pipe.SetReadDeadline(until) // never fails: pipes support deadlines
	var text bytes.Buffer
	if _, err := io.Copy(&text, pipe); err != nil {
		fmt.Fprintf(&text, "\n(%v after %v)\n", err, quitTime)
	}
	return text.String()
}

// alive reports whether a process is running.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)) // empty for a zombie
	return err == nil && len(b) > 0
}
