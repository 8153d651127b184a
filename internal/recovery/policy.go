package recovery

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Policy sets how often the job takes a backup: every Every safe points, or with Auto as
// often as is worth its cost. The zero value means never.
type Policy struct {
	Every uint64
	Auto  bool
}

// firstAuto is the safe point of the first backup of the automatic policy. It measures the
// cost of a backup. By then the time between two safe points is known, too.
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

// first returns the first cut for a backup. A job of one rank takes none, since no other
// rank could hold its state.
func (p Policy) first(ranks int) uint64 {
	switch {
	case ranks < 2:
		return 0
	case p.Auto:
		return firstAuto
	}
	return p.Every
}

// pace measures the quantities from which the interval to the next backup is computed.
type pace struct {
	*desk
	replicas *replicas
	rate     rate
	failures Failures
}

// interval returns the number of safe points from one backup to the next.
func (pc *pace) interval() uint64 {
	if !pc.config.Backup.Auto {
		return pc.config.Backup.Every
	}
	if pc.rate.perPoint <= 0 {
		return 1
	}
	// Soon after a failure more failures are likely, later fewer. So the interval depends on
	// the failure rate until the next backup, and that rate depends on the interval. The
	// second iteration is accurate enough.
	cost := pc.rate.cost()
	best := pc.failures.between(pc.now)
	for range 2 {
		best = Interval(cost, pc.interruption(pc.failures.rate(pc.now, max(best, pc.rate.perPoint))))
	}
	return uint64(min(max(best/pc.rate.perPoint, 1), 1<<40))
}

// compared returns the first safe point at which states are compared, number or a later one.
func (c Config) compared(number uint64) uint64 {
	if every := c.Compared; every > 1 {
		number = (number + every - 1) / every * every
	}
	return number
}

// Interval returns the best time between two backups. cost is the time that a backup
// takes, mtti the mean time between two rollbacks. The result is Young's
// sqrt(2·cost·mtti), less Daly's correction for the cost itself; or mtti, if a backup
// costs at least twice that.
func Interval(cost, mtti time.Duration) time.Duration {
	if cost >= 2*mtti {
		return mtti
	}
	return time.Duration(math.Sqrt(2*float64(cost)*float64(mtti))) - cost
}

// repairTime is the assumed time from the loss of a replica to its replacement.
const repairTime = time.Second

// interruption returns the mean time until a rank loses all its replicas, at the given
// number of failures per second. Each failure hits one process. A replica that can be
// replaced is missing only for repairTime.
func (pc *pace) interruption(failures float64) time.Duration {
	processes := 0
	for range pc.replicas.each(live) {
		processes++
	}
	failures /= float64(max(processes, 1))
	away := 1.0 // the probability that one replica is missing
	if pc.replicas.usable() {
		away = min(repairTime.Seconds()*failures, 1)
	}
	sum := 0.0
	for rank := range pc.config.Degrees {
		if n := pc.replicas.alive(rank); n > 0 {
			sum += float64(n) * failures * math.Pow(away, float64(n-1))
		}
	}
	return time.Duration(min(float64(time.Second)/sum, float64(1<<61)))
}
