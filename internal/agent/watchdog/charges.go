package watchdog

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/base/lease"
	"github.com/intrahpc/intra/internal/base/proc"
)

// charges are the process groups and folders that a watchdog has to clean up.
type charges struct {
	groups    map[int]bool
	starting  int // number of processes whose groups are not known yet
	folders   []string
	words     string        // text to write at the end, "" if there is none
	abandoned time.Duration // when the caller must have ended, 0 if it has no lease
	paused    bool
}

// Run runs a watchdog. It reads process groups and folders from in until in ends, and then
// cleans up. While the lease is over, it keeps the processes stopped. If the caller then stays
// silent for long, it also kills the caller and cleans up. At the end it writes the caller's
// last words to out.
func Run(in io.Reader, out io.Writer) {
	c := &charges{groups: make(map[int]bool)}
	caller, _ := strconv.Atoi(os.Getenv(Variable))
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- s.Text()
		}
	}()
	expiry := time.NewTimer(math.MaxInt64)
	for open := true; open; {
		var line string
		select {
		case line, open = <-lines:
			if wait, leased := c.take(line); leased {
				expiry.Reset(wait)
			}
		case <-expiry.C:
			left := c.abandoned - lease.Now()
			if left > 0 {
				c.signal(syscall.SIGSTOP)
				c.paused = true
				expiry.Reset(left)
				continue
			}
			if os.Getppid() == caller { // otherwise the number may belong to another process
				_ = syscall.Kill(caller, syscall.SIGKILL)
			}
			open = false
		}
	}
	c.signal(syscall.SIGKILL)
	if c.starting > 0 {
		killStartedBy(caller)
	}
	if c.words != "" {
		fmt.Fprintln(out, c.words)
	}
	for _, f := range c.folders {
		_ = os.RemoveAll(f) // no process is left to report an error to
	}
}

// take handles one line. For a new lease it returns how long the lease lasts.
func (c *charges) take(line string) (wait time.Duration, leased bool) {
	what, arg, _ := strings.Cut(line, " ")
	group, _ := strconv.Atoi(arg)
	switch what {
	case "starting":
		c.starting++
	case "failed":
		c.starting--
	case "watch":
		c.starting--
		if group > 1 {
			c.groups[group] = true
		}
		if c.paused {
			proc.SignalGroup(group, syscall.SIGSTOP)
		}
	case "forget":
		delete(c.groups, group)
	case "words":
		c.words = arg
	case "folder":
		c.folders = append(c.folders, arg)
	case "lease":
		var until, abandoned int64
		if _, err := fmt.Sscan(arg, &until, &abandoned); err != nil {
			return 0, false
		}
		c.abandoned = time.Duration(abandoned)
		wait = time.Duration(until) - lease.Now()
		if c.paused && wait > 0 {
			c.paused = false
			c.signal(syscall.SIGCONT)
		}
		return wait, true
	}
	return 0, false
}

func (c *charges) signal(s syscall.Signal) {
	for group := range c.groups {
		proc.SignalGroup(group, s)
	}
}

// killStartedBy kills the processes with the mark of parent, and the processes that they have
// started. A process that has not finished its exec has no mark, and dies with its parent. A
// killed process may just have started another one, and a process in the middle of an exec
// shows no environment. So killStartedBy looks again until it finds no more processes of
// either kind.
func killStartedBy(parent int) {
	mark := append([]byte(markOf(parent)), 0)
	killed := make(map[string]bool)
	for again, end := true, time.Now().Add(5*time.Second); again && time.Now().Before(end); {
		again = false
		all, _ := filepath.Glob("/proc/[0-9]*")
		for _, p := range all {
			// The environment of a process that has ended, or of another user's process,
			// cannot be read.
			environ, err := os.ReadFile(filepath.Join(p, "environ"))
			switch {
			case err != nil || killed[p]:
			case bytes.Contains(environ, mark):
				pid, _ := strconv.Atoi(filepath.Base(p))
				proc.Signal(pid, syscall.SIGKILL)
				killed[p], again = true, true
			case len(environ) == 0 && amidExec(p):
				again = true
			}
		}
		if again {
			time.Sleep(time.Millisecond)
		}
	}
}

// amidExec reports whether a process, given by its folder in /proc, has the memory of a new
// program (field vsize), but no environment in it yet (field env_end).
func amidExec(folder string) bool {
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return false
	}
	const vsize, envEnd, state = 23, 51, 3 // positions in /proc/PID/stat, from 1; see proc(5)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return len(fields) > envEnd-state && fields[vsize-state] != "0" && fields[envEnd-state] == "0"
}
