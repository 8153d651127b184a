package engine

import (
	"slices"
	"sync"
	"time"
)

// bandwidth is what is known of the speed at which updates leave: measured by
// the long ones, one after the other, or given beforehand.
type bandwidth struct {
	mu      sync.Mutex
	perByte float64     // nanoseconds; 0: not known
	least   float64     // of perByte, for a link with a limit
	recent  [16]float64 // measured last
	n       int
	last    time.Duration
}

// measurable updates are long enough for their time to be that of their bytes.
const measurable = 32 << 10

// limit sets the bandwidth that links do not exceed, in bytes per second.
func (b *bandwidth) limit(rate float64) {
	b.least = float64(time.Second) / rate
	b.perByte = b.least
}

// sent takes in an update that was given to a link at from and handed over at
// to. Of those queued behind each other each counts from the end of the one
// before.
func (b *bandwidth) sent(bytes int, from, to time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	took := float64(to - max(from, b.last))
	b.last = max(b.last, to)
	if bytes < measurable || took <= 0 {
		return
	}
	now := max(took/float64(bytes), b.least)
	b.recent[b.n%len(b.recent)] = now
	b.n++
	if b.perByte == 0 {
		b.perByte = now
		return
	}
	b.perByte += (now - b.perByte) / 8
}

// time returns how long so many bytes take to be sent, 0 if that is not known.
func (b *bandwidth) time(bytes int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Duration(b.perByte * float64(bytes))
}

// atBest is time without what a peer adds that does not read at once, since it
// computes or has not come yet: as long as the fastest of the last updates
// took, or over a link of 10 GB/s if none has been measured.
func (b *bandwidth) atBest(bytes int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n == 0 {
		return time.Duration(max(b.perByte, 0.1) * float64(bytes))
	}
	return time.Duration(slices.Min(b.recent[:min(b.n, len(b.recent))]) * float64(bytes))
}
