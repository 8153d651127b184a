package verify

import (
	"math/bits"
	"time"
)

// Pace chooses the places at which a replica takes a hash: the multiples of a power of
// two. It doubles and halves that power so that hashes take no more than a share of the
// time. Replicas measure different times and choose different powers. But multiples of a
// larger power are also multiples of a smaller one. At these places all replicas take a hash,
// although none knows the choice of another. A replica skips no multiple of its power, even if it
// is late.
//
// Places are counted from 1. The first one that the replica reaches is compared, so that a
// difference from the start is found at the start.
type Pace struct {
	level   int           // the replica hashes the multiples of 2^level
	spent   time.Duration // time spent on all hashes
	cost    time.Duration // average time of one hash
	hashed  bool          // at least one hash was taken
	at      uint64        // the last place at which the clock was read
	looked  time.Duration // time at which the program continued from there
	between time.Duration // average time between two places, measured up to at
}

const (
	// paceShare is the inverse of the share of the time that hashes may take. That share is
	// less than half of the documented one, because hashes have further costs.
	paceShare = 250
	// paceFree is the time that hashes may take beyond that share if the number of places has
	// at least doubled since the hash before. So a job of any length is compared from its
	// beginning to its end, with few hashes. In a short job places may follow each other faster
	// than hashes can be taken. paceFirst is the time that hashes may take at any place.
	paceFree  = 5 * time.Millisecond
	paceFirst = paceFree / 50
	// highest is the largest level.
	highest = 40
)

// NewPace returns the Pace of a process that has passed n places, and has spent time on
// hashes at places of the other kind.
func NewPace(n uint64, spent time.Duration) *Pace { return &Pace{at: n, spent: spent} }

// Due reports whether a hash is to be taken at place n. now returns the time of the
// process, and is called only occasionally.
func (p *Pace) Due(n uint64, now func() time.Duration) bool {
	if p.level > 0 && multiple(n, p.level/2) && p.hashed {
		// Places may follow each other more slowly than before. A replica that lowers its
		// power skips no place that it hashed before.
		p.look(n, now())
		p.level = min(p.level, p.choose(n-1))
	}
	return multiple(n, p.level)
}

// Took records how long the hash at place n took, and when it was complete.
func (p *Pace) Took(n uint64, took, now time.Duration) {
	p.look(n, now-took)
	p.looked = now
	p.spent += took
	if p.cost = (3*p.cost + took) / 4; !p.hashed {
		p.cost, p.hashed = took, true
	}
	p.level = p.choose(n)
}

// look updates the time between places: the program reaches place n now.
func (p *Pace) look(n uint64, now time.Duration) {
	if n > p.at {
		p.between = max(now-p.looked, 0) / time.Duration(n-p.at)
		p.at, p.looked = n, now
	}
}

// choose returns the smallest level at which hashes after place n stay within the share.
func (p *Pace) choose(n uint64) int {
	for level := 0; ; level++ {
		next := (n>>level + 1) << level
		most := paceFirst
		if level >= bits.Len64(n)-1 { // next is the next power of two, or later
			most = paceFree
		}
		then := p.looked + mul(p.between, next-n)
		if level == highest || p.spent+p.cost <= most+then/paceShare {
			return level
		}
	}
}

// Spent returns how long all hashes have taken.
func (p *Pace) Spent() time.Duration { return p.spent }

// Between returns the last measured time from one place to the next.
func (p *Pace) Between() time.Duration { return p.between }

// multiple reports whether n is a multiple of 2^level.
func multiple(n uint64, level int) bool { return bits.TrailingZeros64(n) >= level }

// mul multiplies, and returns a very long time if the product overflows.
func mul(d time.Duration, n uint64) time.Duration {
	const most = 1 << 62
	if hi, lo := bits.Mul64(uint64(d), n); hi == 0 && lo < most {
		return time.Duration(lo)
	}
	return most
}
