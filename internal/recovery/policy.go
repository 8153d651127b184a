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

// rate measures how fast the program passes its safe points, and what backups
// hold it up.
type rate struct {
	from       uint64
	since      time.Duration // when safe point from was left
	perPoint   time.Duration
	cost       time.Duration // of the last backup
	seen, busy bool
}

// first: a process has come to safe point 1.
func (r *rate) first(now time.Duration) {
	if !r.seen {
		r.seen, r.from, r.since = true, 1, now
	}
}

// reached: the first process is at safe point number.
func (r *rate) reached(number uint64, now time.Duration) {
	if r.busy || !r.seen || number <= r.from {
		return
	}
	r.busy = true
	r.perPoint = (now - r.since) / time.Duration(number-r.from)
}

// left: the cut at safe point number is over.
func (r *rate) left(number uint64, now time.Duration) {
	r.seen, r.busy, r.from, r.since = true, false, number, now
}

// interval returns how many safe points after a backup the next one is taken.
func (h *Head) interval() uint64 {
	if !h.config.Backup.Auto {
		return h.config.Backup.Every
	}
	if h.rate.perPoint <= 0 {
		return 1
	}
	best := Interval(h.rate.cost, h.interruption())
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

// Before the first death a process is taken to die once a day; a replica that
// is replaced, to be back within a second.
const (
	unknownUptime = 24 * time.Hour
	repairTime    = time.Second
)

// interruption is the mean time until a rank loses all its replicas, from the
// deaths so far: each replica dies alone, and one that is replaced is away
// only for the time of the repair.
func (h *Head) interruption() time.Duration {
	uptime := float64(h.processes+unknownUptime) / float64(h.deaths+1)
	away := 1.0 // the chance that one replica is away
	if h.usable() {
		away = min(float64(repairTime)/uptime, 1)
	}
	sum := 0.0
	for rank := range h.config.Degrees {
		n := h.alive(rank)
		if n == 0 {
			continue
		}
		sum += float64(n) / uptime * math.Pow(away, float64(n-1))
	}
	if sum == 0 {
		return unknownUptime
	}
	return time.Duration(min(1/sum, float64(1<<62)))
}
