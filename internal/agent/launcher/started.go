package launcher

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A launcher's variables are in the environment of every process below its own: a shell under
// srun --pty, or an intrarun that a program under mpirun starts. The table of processes of
// this host shows whether the launcher has started intrarun itself. The topmost ancestor with
// the same value of the rank's variable is the process that the launcher has started. Its
// parent belongs to the launcher, and the other children of that parent are the launcher's
// other processes.

// process is a process of this host.
type process struct {
	parent, group, session int
	terminal               bool
	name                   string // the first 15 bytes of its program's name
	rank                   string // initial value of the rank's variable, "" if it cannot be read
	program                string // path of its executable, "" if it cannot be read
	age                    time.Duration
}

// table holds the processes of a host, by number.
type table map[int]process

// ticks is the number of ticks in a second, the unit of times in /proc.
const ticks = 100

// read adds the process pid to the table. variable is the name of the rank's variable.
func (t table) read(pid int, variable string, uptime time.Duration) bool {
	dir := fmt.Sprintf("/proc/%d/", pid)
	stat, err := os.ReadFile(dir + "stat")
	if err != nil {
		return false // the process has ended
	}
	p, start, ok := parseStat(stat)
	if !ok {
		return false
	}
	p.age = max(0, uptime-start)
	p.program, _ = os.Readlink(dir + "exe")
	environ, _ := os.ReadFile(dir + "environ")
	for v := range bytes.SplitSeq(environ, []byte{0}) {
		if value, ok := bytes.CutPrefix(v, []byte(variable+"=")); ok {
			p.rank = string(value)
		}
	}
	t[pid] = p
	return true
}

// sinceBoot returns the uptime of the host, 0 if it cannot be read.
func sinceBoot() time.Duration {
	b, _ := os.ReadFile("/proc/uptime")
	text, _, _ := strings.Cut(string(b), " ")
	seconds, _ := strconv.ParseFloat(text, 64)
	return time.Duration(seconds * float64(time.Second))
}

// readAbove reads the process pid and its ancestors.
func readAbove(pid int, variable string) table {
	t := make(table)
	for at := pid; t.read(at, variable, sinceBoot()); {
		at = t[at].parent
	}
	return t
}

// readTable reads the processes of this host.
func readTable(variable string) table {
	t := make(table)
	all, _ := filepath.Glob("/proc/[0-9]*")
	uptime := sinceBoot()
	for _, dir := range all {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			t.read(pid, variable, uptime)
		}
	}
	return t
}

// parseStat parses /proc/PID/stat. The name of the program may contain any characters, even
// parentheses. start is the time from boot to the start of the process.
func parseStat(stat []byte) (p process, start time.Duration, ok bool) {
	from, to := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if from < 0 || to < from {
		return p, 0, false
	}
	p.name = string(stat[from+1 : to])
	f := strings.Fields(string(stat[to+1:])) // f[0] is the state, field 3
	if len(f) < 20 {
		return p, 0, false
	}
	number := func(field int) int {
		n, err := strconv.Atoi(f[field-3])
		ok = ok && err == nil
		return n
	}
	ok = true
	p.parent, p.group, p.session, p.terminal = number(4), number(5), number(6), number(7) != 0
	start = time.Duration(number(22)) * time.Second / ticks
	return p, start, ok
}

// began returns the process that the launcher has started: self, or an ancestor.
func (t table) began(self int) int {
	for {
		parent := t[self].parent
		if p, ok := t[parent]; !ok || p.rank == "" || p.rank != t[self].rank || p.isLauncher() {
			return self
		}
		self = parent
	}
}

// launcherNames are parts of the names of programs that launchers use to start processes on a
// host.
var launcherNames = []string{"mpi", "orte", "prte", "prun", "pmi", "hydra", "slurm", "srun"}

func (p process) isLauncher() bool {
	return slices.ContainsFunc(launcherNames, func(name string) bool { return strings.Contains(p.name, name) })
}

// leftOver returns why the launcher cannot have started the process self. It returns "" if it
// may have.
func (t table) leftOver(self int) string {
	first := t.began(self)
	above, seen := t[t[first].parent]
	if seen && !above.isLauncher() && (t[first].parent == 1 || above.name == "systemd") {
		return fmt.Sprintf("the launcher has ended, and left %s (process %d) behind", t[first].name, first)
	}
	// A shell with job control gives each command its own process group. The
	// shell need not lead the session: script and su start it through another
	// shell.
	me, shell := t[self], 0
	for at := self; at != first; {
		at = t[at].parent
		if shell == 0 && me.group != t[at].group {
			shell = at
		}
		if me.terminal && me.session == at && shell != 0 {
			return fmt.Sprintf("%s (process %d) has started it from a terminal", t[shell].name, shell)
		}
	}
	return ""
}

// beside counts the other processes that the launcher has started on this host. same counts
// those of them that run the same program as self, or have a descendant that does.
func (t table) beside(self int) (others, same int) {
	first := t.began(self)
	children := make(map[int][]int)
	for pid, p := range t {
		children[p.parent] = append(children[p.parent], pid)
	}
	var runs func(pid int) bool
	runs = func(pid int) bool {
		return filepath.Base(t[pid].program) == filepath.Base(t[self].program) || slices.ContainsFunc(children[pid], runs)
	}
	for _, pid := range children[t[first].parent] {
		if p := t[pid]; pid == first || p.rank == "" || p.rank == t[first].rank {
			continue
		}
		others++
		if runs(pid) {
			same++
		}
	}
	return others, same
}

// Bounds of the time that patience returns.
const (
	leastPatience = time.Second
	mostPatience  = 10 * time.Second
)

// patience returns how long to wait until the other processes of this host have started the
// program, too. They began at the same time, and a wrapper may be as slow for them as it was
// for self.
func (t table) patience(self int) time.Duration {
	return min(max(2*t[t.began(self)].age, leastPatience), mostPatience)
}

// says returns a text about the variables by which this process seems to be one of the
// launcher's.
func (p *Process) says() string {
	return fmt.Sprintf("%s=%d and %s=%d are those of %s", p.rankName, p.Rank, p.sizeName, p.Size, p.Launcher)
}

// LeftOver returns why the launcher has not started this process, although its variables are
// set. It returns "" if the launcher may have started it.
func (p *Process) LeftOver() string {
	if why := readAbove(os.Getpid(), p.rankName).leftOver(os.Getpid()); why != "" {
		return p.says() + ", which has not started intrarun: " + why
	}
	return ""
}

// ErrAlone means that the launcher's other processes run other programs than this one.
var ErrAlone = errors.New("to run a job of this host, give -alone; if the others start intrarun later, -alone=false")

// alone waits until the other processes of this host have had time to start the program, or
// done is closed. It returns an error if none of them has started it. It returns nil if the
// others may be on other hosts.
func (p *Process) alone(done <-chan struct{}) error {
	self := os.Getpid()
	select {
	case <-done:
		return nil
	case <-time.After(readAbove(self, p.rankName).patience(self)):
	}
	others, same := readTable(p.rankName).beside(self)
	others = max(others, p.here-1)
	if others == 0 || same > 0 {
		return nil
	}
	return fmt.Errorf("%s, but none of the other %d processes that it has started on this host runs intrarun: %w", p.says(), others, ErrAlone)
}

// These times bound how long processes wait before they report that they wait. The first process
// reports earlier than the others, which report only if the first is missing.
const (
	firstWaits = leastPatience
	othersWait = 5 * leastPatience
)

// waits reports that this process waits for the others, unless done is closed before.
func (p *Process) waits(done <-chan struct{}) {
	after := firstWaits
	if p.Rank > 0 {
		after = othersWait
	}
	select {
	case <-done:
	case <-time.After(after):
		p.Notice(fmt.Sprintf("waiting for the other %d processes of %s: %s; if it has not started intrarun, give -alone", p.Size-1, p.Launcher, p.says()))
	}
}

// checkSocket checks whether a descriptor can be a connection to a launcher.
func checkSocket(fd int) error {
	s, err := os.Stat(fmt.Sprintf("/proc/self/fd/%d", fd))
	if errors.Is(err, fs.ErrNotExist) || err == nil && s.Mode()&fs.ModeSocket == 0 {
		return fmt.Errorf("%w: %s=%d is no socket here, so no launcher has started intrarun itself: have it do so, or give -alone", ErrLauncher, envPMI, fd)
	}
	return nil // a socket, or a descriptor of unknown kind
}
