package launch

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
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

// Guard reads what to clear away until in ends, and does it.
func Guard(in io.Reader) {
	groups := make(map[int]bool)
	var folders []string
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		what, arg, _ := strings.Cut(lines.Text(), " ")
		group, _ := strconv.Atoi(arg)
		switch what {
		case "watch":
			groups[group] = group > 1
		case "forget":
			delete(groups, group)
		case "folder":
			folders = append(folders, arg)
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
