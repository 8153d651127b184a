package verify

import (
	"math/bits"
	"time"
)

// Pace chooses the places at which a replica takes a hash: the multiples of a power of two,
// which it doubles and halves so that hashes take no more than a share of the time. Replicas
// measure other times and choose other powers, but the multiples of the larger power are
// multiples of the smaller one, too: there all of them take a hash, and none has to know of
// the choice of another. A replica skips no multiple of its power, however late it is.
//
// Places are counted from 1. The first one that the replica comes to is compared, so that
// what differs from the start is found at the start.
type Pace struct {
	level   int           // log2 of the power
	spent   time.Duration // by all hashes
	cost    time.Duration // of one hash, on average
	hashed  bool          // there was one
	at      uint64        // where the time was looked at last
	looked  time.Duration // and when the program went on from there
	between time.Duration // from one place to the next before that, on average
}

const (
	// paceShare is the part of the time that hashes may take, as its inverse: less than half of
	// what is promised, since other costs follow from them.
	paceShare = 250
	// paceFree is the time for hashes before that. What starts a process takes longer,
	// and a short job is compared often enough to be of use.
	paceFree = time.Millisecond
	// highest is the largest level.
	highest = 40
)

// NewPace returns the choice of a process that is about to come to the place after n, and has
// spent time on hashes at places of another kind.
func NewPace(n uint64, spent time.Duration) *Pace { return &Pace{at: n, spent: spent} }

// Due reports whether a hash is to be taken at place n. now is the time of the process,
// and is asked for now and then only.
func (p *Pace) Due(n uint64, now func() time.Duration) bool {
	if p.level > 0 && multiple(n, p.level/2) && p.hashed {
		// Places may come less often than before. A replica that lowers its power skips
		// nothing that it did not skip before.
		p.look(n, now())
		p.level = min(p.level, p.choose(n-1))
	}
	return multiple(n, p.level)
}

// Took notes that the hash at place n has taken so long, and was complete at a time.
func (p *Pace) Took(n uint64, took, now time.Duration) {
	p.look(n, now-took)
	p.looked = now
	p.spent += took
	if p.cost = (3*p.cost + took) / 4; !p.hashed {
		p.cost, p.hashed = took, true
	}
	p.level = p.choose(n)
}

// look measures the time between places: the program has come to place n at a time.
func (p *Pace) look(n uint64, now time.Duration) {
	if n > p.at {
		p.between = max(now-p.looked, 0) / time.Duration(n-p.at)
		p.at, p.looked = n, now
	}
}

// choose returns the smallest level at which the hash after place n keeps to the share.
func (p *Pace) choose(n uint64) int {
	for level := 0; ; level++ {
		next := (n>>level + 1) << level
		then := p.looked + mul(p.between, next-n)
		if level == highest || p.spent+p.cost <= paceFree+then/paceShare {
			return level
		}
	}
}

// Spent returns how long all hashes have taken.
func (p *Pace) Spent() time.Duration { return p.spent }

// Between returns the time from one place to the next, as measured last.
func (p *Pace) Between() time.Duration { return p.between }

// multiple reports whether n is one of a power of two.
func multiple(n uint64, level int) bool { return bits.TrailingZeros64(n) >= level }

// mul multiplies, and returns a long time where the product is no duration.
func mul(d time.Duration, n uint64) time.Duration {
	const most = 1 << 62
	if hi, lo := bits.Mul64(uint64(d), n); hi == 0 && lo < most {
		return time.Duration(lo)
	}
	return most
}
