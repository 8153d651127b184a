package jobtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/intrahpc/intra/internal/agent/watchdog"
	"github.com/intrahpc/intra/internal/job"
)

// Process is a running process of a job.
type Process struct {
	PID  int
	Name string // RANK.REPLICA, or the kind of process
	Rank bool   // the process runs the program
}

// mark is a variable in the environment of intrarun and all its descendants. Its value
// identifies the job. It is not one of the variables of Intra, which programs must not
// see.
const mark = "JOBTEST_JOB"

// watchdogName is the name of a process that outlives intrarun for a moment.
const watchdogName = "watchdog"

// marked finds the processes with a mark that have not ended.
func marked(value string) (all []Process) {
	want := fmt.Appendf(nil, "%s=%s", mark, value)
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		// A process that has ended, or belongs to another user, has no readable
		// environment.
		b, err := os.ReadFile(filepath.Join(folder, "environ"))
		if err != nil || !bytes.Contains(b, want) {
			continue
		}
		environ := make(map[string]string)
		for v := range bytes.SplitSeq(b, []byte{0}) {
			name, value, _ := strings.Cut(string(v), "=")
			environ[name] = value // the last value of a variable counts
		}
		if environ[mark] != value {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			continue
		}
		all = append(all, describe(pid, environ))
	}
	return all
}

func describe(pid int, environ map[string]string) Process {
	name, rank := environ[job.EnvProcess]
	_, guards := environ[watchdog.Variable]
	switch {
	case rank:
		return Process{pid, name, true}
	case guards:
		return Process{pid, watchdogName, false}
	}
	command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // an error means that the process has ended
	args := strings.Split(string(command), "\x00")
	return Process{pid, filepath.Base(args[0]), false}
}

func (p Process) String() string { return fmt.Sprintf("%s (%d)", p.Name, p.PID) }

// runs reports whether a thread of a process has not stopped.
func (p Process) runs() bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.PID))
	for _, thread := range threads {
		b, err := os.ReadFile(thread) // an error means that the thread has ended
		if i := bytes.LastIndexByte(b, ')'); err == nil && !bytes.HasPrefix(b[i+1:], []byte(" T")) {
			return true
		}
	}
	return false
}

// signal signals a process that may have ended.
func (p Process) signal(s syscall.Signal) { _ = syscall.Kill(p.PID, s) }
