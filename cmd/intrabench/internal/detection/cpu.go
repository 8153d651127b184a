package detection

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/internal/testkit/netns"
)

// cpuTime returns the CPU time that all threads of a process have used so far, including
// threads that have ended.
func cpuTime(pid int) (time.Duration, error) {
	const all = 2 // CPUCLOCK_SCHED, the scheduler's count
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|all, &t); err != nil {
		return 0, fmt.Errorf("read the CPU time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// participants are the processes of a job on hosts, by their role.
type participants struct {
	net        *netns.Net
	watch, job []int // watch: head, agents and their watchdogs; job: processes of the program
}

// findParticipants finds the processes of a job on all hosts.
func findParticipants(n *netns.Net) (*participants, error) {
	c := &participants{net: n}
	for _, h := range n.Hosts {
		all, err := h.Processes()
		if err != nil {
			return nil, err
		}
		for _, pid := range all {
			line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if err != nil {
				return nil, fmt.Errorf("find out what process %d is: %w", pid, err)
			}
			if words := bytes.Split(line, []byte{0}); len(words) > 1 && string(words[1]) == ProgramCommand {
				c.job = append(c.job, pid)
			} else {
				c.watch = append(c.watch, pid)
			}
		}
	}
	if len(c.job) != hosts {
		return nil, fmt.Errorf("%d of %d processes of the job are there: give a longer -time", len(c.job), hosts)
	}
	return c, nil
}

// used is the resource use of the participants up to a moment.
type used struct {
	at               time.Time
	watch, job       time.Duration
	datagrams, bytes int64
}

// used returns the resource use so far. It fails if a participant has ended.
func (c *participants) used() (u used, err error) {
	u.at = time.Now()
	u.datagrams, u.bytes = c.net.Datagrams()
	if u.watch, err = cpuTimes(c.watch); err == nil {
		u.job, err = cpuTimes(c.job)
	}
	return u, err
}

func cpuTimes(pids []int) (sum time.Duration, err error) {
	for _, pid := range pids {
		t, err := cpuTime(pid)
		if err != nil {
			return 0, err
		}
		sum += t
	}
	return sum, nil
}

// usage measures the resource use of the job per second, halfway through its run, which takes
// approximately the time about. It waits until then.
func (w *Work) usage(n *netns.Net, about time.Duration) error {
	time.Sleep(about / 4)
	c, err := findParticipants(n)
	if err != nil {
		return err
	}
	from, err := c.used()
	if err != nil {
		return err
	}
	to := from
	for to.at.Sub(from.at) < about/2 {
		time.Sleep(about / 20)
		next, err := c.used()
		if err != nil {
			break // the job was faster than expected
		}
		to = next
	}
	if to.at == from.at {
		return errors.New("it ended early: give a longer -time")
	}
	to.since(from, w)
	return nil
}

// since stores the resource use per second between the moments from and u in w.
func (u used) since(from used, w *Work) {
	s := u.at.Sub(from.at).Seconds()
	w.WatchCPU, w.JobCPU = (u.watch-from.watch).Seconds()/s, (u.job-from.job).Seconds()/s
	w.Datagrams, w.Bytes = float64(u.datagrams-from.datagrams)/s, float64(u.bytes-from.bytes)/s
}
