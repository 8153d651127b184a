//go:build linux

package results

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// usage is the processor time that was used up to a moment.
type usage struct {
	at  time.Time
	all time.Duration // time used by all processes and the kernel
	own time.Duration // time used by this process and its children that have ended
}

// tick is USER_HZ, the unit of times in /proc/stat.
const tick = 10 * time.Millisecond

func readUsage() (usage, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return usage{}, fmt.Errorf("read how busy the processors are: %w", err)
	}
	u := usage{at: time.Now()}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	// The line is: cpu user nice system idle iowait irq softirq steal.
	if len(fields) < 9 || fields[0] != "cpu" {
		return usage{}, fmt.Errorf("read how busy the processors are: /proc/stat begins with %q, want cpu and 8 numbers", line)
	}
	for _, i := range []int{1, 2, 3, 6, 7, 8} {
		ticks, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return usage{}, fmt.Errorf("read how busy the processors are: %w", err)
		}
		u.all += time.Duration(ticks) * tick
	}
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if err := syscall.Getrusage(who, &r); err != nil {
			return usage{}, fmt.Errorf("read what this process has used: %w", err)
		}
		u.own += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	return u, nil
}

// others returns the average number of cores that other processes have used since the moment
// since.
func (u usage) others(since usage) float64 {
	elapsed := u.at.Sub(since.at)
	if elapsed <= 0 {
		return 0
	}
	return max(0, float64((u.all-since.all)-(u.own-since.own))/float64(elapsed))
}
