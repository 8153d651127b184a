package detection

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/internal/netns"
)

// cpuTime is what all threads of a process have used so far, also those that
// have ended.
func cpuTime(pid int) (time.Duration, error) {
	const all = 2 // CPUCLOCK_SCHED: by the scheduler's own count
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|all, &t); err != nil {
		return 0, fmt.Errorf("read the CPU time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// used is what the processes of a job have used so far.
type used struct {
	at               time.Time
	watch, job       time.Duration
	processes        int // of the job
	datagrams, bytes int64
}

// use reads what those on all hosts have used.
func use(n *netns.Net) (u used, err error) {
	u.at = time.Now()
	u.datagrams, u.bytes = n.Datagrams()
	for _, h := range n.Hosts {
		all, err := h.Processes()
		if err != nil {
			return u, err
		}
		for _, pid := range all {
			t, err := cpuTime(pid)
			if err != nil {
				return u, err
			}
			line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if err != nil {
				return u, fmt.Errorf("find out what process %d is: %w", pid, err)
			}
			if words := bytes.Split(line, []byte{0}); len(words) > 1 && string(words[1]) == ProgramCommand {
				u.job += t
				u.processes++
			} else {
				u.watch += t
			}
		}
	}
	return u, nil
}

// since puts what was used from one moment to another into w, per second.
func (u used) since(from used, w *Work) error {
	if u.processes != hosts || from.processes != hosts {
		return fmt.Errorf("%w: %d and then %d processes of the job were there: give a longer -time", errRun, from.processes, u.processes)
	}
	s := u.at.Sub(from.at).Seconds()
	w.WatchCPU, w.JobCPU = (u.watch-from.watch).Seconds()/s, (u.job-from.job).Seconds()/s
	w.Datagrams, w.Bytes = float64(u.datagrams-from.datagrams)/s, float64(u.bytes-from.bytes)/s
	return nil
}
