package scale

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/prometheus/procfs"
)

// usage is the resource use of a set of processes up to a moment.
type usage struct {
	processes int
	cpu       float64 // seconds
	wakeups   uint64  // number of times that a thread has blocked and resumed
	memory    uint64  // bytes; shared memory counts once
}

// family is the usage of intrarun, and of the processes that it has started.
type family struct{ launcher, job usage }

// look measures the resource use of intrarun, which is process root, and of all its
// descendants. A descendant belongs to the job if name is its first argument.
func look(root int, name string) (f family, err error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return f, fmt.Errorf("read /proc: %w", err)
	}
	all, err := fs.AllProcs()
	if err != nil {
		return f, fmt.Errorf("read /proc: %w", err)
	}
	parents := make(map[int]int, len(all))
	for _, p := range all {
		s, err := p.Stat()
		switch {
		case gone(err):
		case err != nil:
			return f, fmt.Errorf("read the state of process %d: %w", p.PID, err)
		default:
			parents[p.PID] = s.PPID
		}
	}
	below := func(pid int) bool {
		for pid != root && pid != 0 {
			pid = parents[pid]
		}
		return pid == root
	}
	for _, p := range all {
		if !below(p.PID) {
			continue
		}
		words, err := p.CmdLine()
		if err != nil && !gone(err) {
			return f, fmt.Errorf("read the command line of process %d: %w", p.PID, err)
		}
		kind := &f.launcher
		if slices.Index(words, name) == 1 {
			kind = &f.job
		}
		if err := kind.add(fs, p); err != nil && !gone(err) {
			return f, fmt.Errorf("read what process %d uses: %w", p.PID, err)
		}
	}
	return f, nil
}

// gone reports whether an error means that the process has ended.
func gone(err error) bool { return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) }

func (u *usage) add(fs procfs.FS, p procfs.Proc) error {
	stat, err := p.Stat()
	if err != nil {
		return err
	}
	maps, err := p.ProcSMapsRollup()
	if err != nil {
		return err
	}
	threads, err := fs.AllThreads(p.PID)
	if err != nil {
		return err
	}
	for _, t := range threads {
		s, err := t.NewStatus()
		if gone(err) {
			continue
		}
		if err != nil {
			return err
		}
		u.wakeups += s.VoluntaryCtxtSwitches
	}
	u.processes++
	u.cpu += stat.CPUTime()
	u.memory += maps.Pss
	return nil
}
