package engine

import (
	"slices"
	"sync"
	"time"
)

// bandwidth estimates how fast updates are sent. It is measured with long updates that
// follow each other, or set by limit.
type bandwidth struct {
	mu      sync.Mutex
	perByte float64     // nanoseconds per byte; 0: unknown
	least   float64     // lower bound of perByte, for a link with a limit
	recent  [16]float64 // latest measurements of perByte
	n       int
	last    time.Duration
}

// measurable is the least size of an update whose time depends mostly on its bytes.
const measurable = 32 << 10

// limit sets a bandwidth, in bytes per second, that the links do not exceed.
func (b *bandwidth) limit(rate float64) {
	b.least = float64(time.Second) / rate
	b.perByte = b.least
}

// sent records an update that was queued on a link at from and handed over at to. Updates
// queue behind each other, so the time of an update begins when the previous one was
// handed over.
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

// time returns how long it takes to send that many bytes, 0 if unknown.
func (b *bandwidth) time(bytes int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Duration(b.perByte * float64(bytes))
}

// atBest is time without delays by the peer, which may read late because it computes or
// has not entered the section. It uses the fastest of the last updates. If no update was
// measured, it uses the limit, and at most 10 GB/s.
func (b *bandwidth) atBest(bytes int) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.n == 0 {
		return time.Duration(max(b.perByte, 0.1) * float64(bytes))
	}
	return time.Duration(slices.Min(b.recent[:min(b.n, len(b.recent))]) * float64(bytes))
}
