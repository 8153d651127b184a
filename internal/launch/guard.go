package launch

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// GuardVariable, in the environment, makes the intrarun command a guard: it
// calls Guard with its standard input and exits.
const GuardVariable = "INTRARUN_GUARD"

// guard is a process that outlives intrarun, by a moment. The kernel kills the
// children of intrarun with it, but not what a wrapper script has started, nor
// does it remove the folder of a program built for the run. The guard holds a
// pipe from intrarun, and does both when the pipe ends.
type guard struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// startGuard starts command as a guard. It has a group of its own, so that the
// terminal's signals do not reach it, and none of our descriptors.
func startGuard(command []string) (*guard, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), GuardVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the guard of the processes: %w", err)
	}
	return &guard{cmd, pipe}, nil
}

// tell never fails in a way that matters: without a guard the job runs as well.
func (g *guard) tell(what, arg string) {
	if g != nil {
		fmt.Fprintf(g.pipe, "%s %s\n", what, arg)
	}
}

// watch names a process group that must not survive.
func (g *guard) watch(group int) { g.tell("watch", strconv.Itoa(group)) }

// forget is called while the number of the group cannot be given again.
func (g *guard) forget(group int) { g.tell("forget", strconv.Itoa(group)) }

// folder names a folder that must not stay.
func (g *guard) folder(path string) { g.tell("folder", path) }

// close ends the guard, which then clears away what is left.
func (g *guard) close() {
	if g != nil {
		g.pipe.Close()
		_ = g.cmd.Wait()
	}
}

// lease says until when, on the clock of monotonic, the caller may be silent.
func (g *guard) lease(until int64) { g.tell("lease", strconv.FormatInt(until, 10)) }

// Guard reads what to clear away until in ends, and does it. A caller with a
// lease that lets it pass is cleared away as well.
func Guard(in io.Reader) {
	groups := make(map[int]bool)
	var folders []string
	caller := os.Getppid()
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
		case <-expiry.C:
			if os.Getppid() == caller { // else that number may be somebody else's
				_ = syscall.Kill(caller, syscall.SIGKILL)
			}
			open = false
		}
		what, arg, _ := strings.Cut(line, " ")
		group, _ := strconv.Atoi(arg)
		switch what {
		case "watch":
			groups[group] = group > 1
		case "forget":
			delete(groups, group)
		case "folder":
			folders = append(folders, arg)
		case "lease":
			expiry.Reset(time.Duration(int64(group) - monotonic()))
		}
	}
	for group, valid := range groups {
		if valid {
			killGroup(group, syscall.SIGKILL)
		}
	}
	for _, f := range folders {
		_ = os.RemoveAll(f) // nobody is left to hear of it
	}
}
