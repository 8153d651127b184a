package intra

import (
	"sync"
	"time"
)

// bandwidth is what is known of the speed at which updates leave: measured by
// the long ones, one after the other, or given beforehand.
type bandwidth struct {
	mu      sync.Mutex
	perByte float64 // nanoseconds; 0: not known
	least   float64 // of perByte, for a link with a limit
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
