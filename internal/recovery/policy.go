package recovery

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Policy says how often a backup is taken: every so many safe points, or with
// Auto as often as pays. Its zero value takes none.
type Policy struct {
	Every uint64
	Auto  bool
}

// The automatic policy measures what a backup costs at the second safe point,
// before which nothing is known but how long it took to get there.
const firstAuto = 2

// ParsePolicy reads a number of safe points, from 1, or auto.
func ParsePolicy(s string) (Policy, error) {
	if s == "auto" {
		return Policy{Auto: true}, nil
	}
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n == 0 {
		return Policy{}, fmt.Errorf("%q: want a number of safe points from 1, or auto", s)
	}
	return Policy{Every: n}, nil
}

func (p Policy) String() string {
	if p.Auto {
		return "auto"
	}
	return strconv.FormatUint(p.Every, 10)
}

func (p Policy) on() bool { return p.Auto || p.Every > 0 }

// first returns the first cut for a backup. A job of one rank takes none: its
// state would have no other place to be than with the rank itself.
func (p Policy) first(ranks int) uint64 {
	switch {
	case ranks < 2:
		return 0
	case p.Auto:
		return firstAuto
	}
	return p.Every
}

// interval returns how many safe points after a backup the next one is taken.
func (h *Head) interval() uint64 {
	if !h.config.Backup.Auto {
		return h.config.Backup.Every
	}
	if h.rate.perPoint <= 0 {
		return 1
	}
	// Soon after a failure others are likely, and fewer later on. The rate that counts is
	// that until the next backup, which depends on when that is: the second look settles it.
	cost := h.rate.cost()
	best := h.failures.between(h.now)
	for range 2 {
		best = Interval(cost, h.interruption(h.failures.rate(h.now, max(best, h.rate.perPoint))))
	}
	return uint64(min(max(best/h.rate.perPoint, 1), 1<<40))
}

// compared returns the first safe point from number on at which states are compared.
func (c Config) compared(number uint64) uint64 {
	if every := c.Compared; every > 1 {
		number = (number + every - 1) / every * every
	}
	return number
}

// Interval is the best time between two backups of which each costs so much,
// if the job has to go back to one after so long a time on average: that of
// Young, sqrt(2·cost·mtti), with Daly's correction for the cost itself. Where
// a backup costs more than twice that time, it is the time itself.
func Interval(cost, mtti time.Duration) time.Duration {
	if cost >= 2*mtti {
		return mtti
	}
	return time.Duration(math.Sqrt(2*float64(cost)*float64(mtti))) - cost
}

// repairTime is how long a replica that is replaced is taken to be away.
const repairTime = time.Second

// interruption is the mean time until a rank loses all its replicas, if so many failures
// come a second: each hits one process, and one that is replaced is away only for the time
// of the repair.
func (h *Head) interruption(failures float64) time.Duration {
	processes := 0
	for range h.each(live) {
		processes++
	}
	failures /= float64(max(processes, 1))
	away := 1.0 // the chance that one replica is away
	if h.usable() {
		away = min(repairTime.Seconds()*failures, 1)
	}
	sum := 0.0
	for rank := range h.config.Degrees {
		if n := h.alive(rank); n > 0 {
			sum += float64(n) * failures * math.Pow(away, float64(n-1))
		}
	}
	return time.Duration(min(float64(time.Second)/sum, float64(1<<61)))
}
