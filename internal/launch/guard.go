package launch

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/lease"
	"github.com/intrahpc/intra/internal/proc"
)

// GuardVariable, in the environment, makes the intrarun command a guard: it
// calls Guard with its standard input and exits.
const GuardVariable = "INTRARUN_GUARD"

// guard is a process that outlives intrarun, by a moment. The kernel kills the
// children of intrarun with it, but not what a wrapper script has started, nor
// does it remove the folder of a program built for the run. The guard holds a
// pipe from intrarun, and does both when the pipe ends. It also keeps a lease.
type guard struct {
	cmd   *exec.Cmd
	pipe  io.WriteCloser
	ended chan struct{}
}

// startGuard starts command as a guard. It has a group of its own, so that the
// terminal's signals do not reach it, and none of our descriptors.
func startGuard(command []string) (*guard, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", GuardVariable, os.Getpid()))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the guard of the processes: %w", err)
	}
	g := &guard{cmd, pipe, make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(g.ended)
	}()
	return g, nil
}

// tell never fails in a way that matters: without a guard the job runs as well.
func (g *guard) tell(what, arg string) {
	if g != nil {
		fmt.Fprintf(g.pipe, "%s %s\n", what, arg)
	}
}

// startedBy, in the environment of a process, names the one that started it,
// for the moment in which its guard does not know its number.
const startedBy = "INTRARUN_STARTED_BY"

// starting comes before the start of a process, and then watch or notStarted.
func (g *guard) starting() { g.tell("starting", "") }

func (g *guard) notStarted() { g.tell("failed", "") }

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
		<-g.ended
	}
}

// lease says, on the clock of package lease, until when the processes may run, and
// from when on the caller must be gone.
func (g *guard) lease(until, abandoned time.Duration) {
	g.tell("lease", fmt.Sprint(int64(until), " ", int64(abandoned)))
}

// keeper is the guard's state.
type keeper struct {
	groups    map[int]bool
	starting  int // processes whose groups are not known yet
	folders   []string
	abandoned time.Duration // when the caller must be gone, 0 if it has no lease
	paused    bool
}

// Guard reads what to clear away until in ends, and does it. While a lease is
// over the processes are stopped; a caller that is then silent for long is
// cleared away as well.
func Guard(in io.Reader) {
	k := &keeper{groups: make(map[int]bool)}
	caller, _ := strconv.Atoi(os.Getenv(GuardVariable))
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
			if wait, leased := k.take(line); leased {
				expiry.Reset(wait)
			}
		case <-expiry.C:
			left := k.abandoned - lease.Now()
			if left > 0 {
				k.signal(syscall.SIGSTOP)
				k.paused = true
				expiry.Reset(left)
				continue
			}
			if os.Getppid() == caller { // else that number may be somebody else's
				_ = syscall.Kill(caller, syscall.SIGKILL)
			}
			open = false
		}
	}
	k.signal(syscall.SIGKILL)
	if k.starting > 0 {
		killStartedBy(caller)
	}
	for _, f := range k.folders {
		_ = os.RemoveAll(f) // nobody is left to hear of it
	}
}

// take does what a line says. It returns how long a new lease lasts.
func (k *keeper) take(line string) (wait time.Duration, leased bool) {
	what, arg, _ := strings.Cut(line, " ")
	group, _ := strconv.Atoi(arg)
	switch what {
	case "starting":
		k.starting++
	case "failed":
		k.starting--
	case "watch":
		k.starting--
		if group > 1 {
			k.groups[group] = true
		}
		if k.paused {
			proc.SignalGroup(group, syscall.SIGSTOP)
		}
	case "forget":
		delete(k.groups, group)
	case "folder":
		k.folders = append(k.folders, arg)
	case "lease":
		var until, abandoned int64
		if _, err := fmt.Sscan(arg, &until, &abandoned); err != nil {
			return 0, false
		}
		k.abandoned = time.Duration(abandoned)
		wait = time.Duration(until) - lease.Now()
		if k.paused && wait > 0 {
			k.paused = false
			k.signal(syscall.SIGCONT)
		}
		return wait, true
	}
	return 0, false
}

func (k *keeper) signal(s syscall.Signal) {
	for group := range k.groups {
		proc.SignalGroup(group, s)
	}
}

// killStartedBy kills what has the mark of a process that started it, and what
// that has started. A process that is not done yet has no mark, and dies with
// its parent. Who is killed may just have started another one, and who is in the
// middle of an exec shows no environment: it looks again until there is neither.
func killStartedBy(parent int) {
	mark := fmt.Appendf(nil, "%s=%d\x00", startedBy, parent)
	killed := make(map[string]bool)
	for again, end := true, time.Now().Add(5*time.Second); again && time.Now().Before(end); {
		again = false
		all, _ := filepath.Glob("/proc/[0-9]*")
		for _, p := range all {
			// A process that is gone or somebody else's has no environment to read.
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

// amidExec says whether the process of a folder in /proc has the memory of a new
// program (field vsize) in which its environment is not laid out yet (env_end).
func amidExec(folder string) bool {
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return false
	}
	const vsize, envEnd, state = 23, 51, 3 // numbered from 1; proc(5)
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return len(fields) > envEnd-state && fields[vsize-state] != "0" && fields[envEnd-state] == "0"
}
