package engine

import (
	"math/bits"
	"slices"
	"time"
)

// window holds the last few of a series of durations.
type window struct {
	last [many]time.Duration
	n    int
}

func (w *window) add(d time.Duration) {
	w.last[w.n%many] = d
	w.n++
}

// median returns the median of the newest durations, at most limit of them.
func (w *window) median(limit int) time.Duration {
	var s [many]time.Duration
	n := min(w.n, limit)
	for i := range n {
		s[i] = w.last[(w.n-1-i)%many]
	}
	slices.Sort(s[:n])
	return s[n/2]
}

func (w *window) least() time.Duration { return slices.Min(w.last[:min(w.n, many)]) }

// costs records what sharing has cost: the time of shared sections, less that of the task bodies
// that this process ran in them. The cost of large updates depends on their size, so it is kept
// by the size as a power of two. The cost of small updates, whatever their size, is mostly the
// time of claims, frames and waits.
type costs struct {
	large [bits.UintSize + 1]window
	small window
}

const (
	// Updates of at least costly bytes are large. A high cost of small updates may be due to a
	// busy machine or a late peer, so it counts only after leastKnown sections. Until then it is
	// assumed to be leastCost, which no machine undercuts.
	costly     = 256 << 10
	leastKnown = 3
	leastCost  = 3 * time.Microsecond
)

func (c *costs) add(bytes int, cost time.Duration) {
	cost = max(cost, 0)
	if bytes < costly {
		c.small.add(cost)
		return
	}
	c.large[bits.Len(uint(bytes))].add(time.Duration(float64(cost) * perByte / float64(bytes)))
}

// of returns the lowest recent cost of updates of about this size, 0 if none is known.
func (c *costs) of(bytes int) time.Duration {
	if bytes < costly {
		if c.small.n < leastKnown {
			return leastCost
		}
		return max(c.small.least(), leastCost)
	}
	w := &c.large[bits.Len(uint(bytes))]
	if w.n == 0 {
		return 0
	}
	return time.Duration(float64(w.least()) * float64(bytes) / perByte)
}

// costs keeps times per perByte bytes, which is large enough for precise durations.
const perByte = 1 << 20
