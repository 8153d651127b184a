package fault

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/update"
)

// Flips turns bits of what tasks have written, as requested (intrarun's -flip and
// -defect).
type Flips struct {
	mu    sync.Mutex
	due   []job.Flip
	fired []bool
	runs  int64 // bodies so far
	rng   *rand.Rand
}

// NewFlips returns those of one process, nil if there are none.
func NewFlips(due []job.Flip) *Flips {
	if len(due) == 0 {
		return nil
	}
	p := due[0].Process
	return &Flips{due: due, fired: make([]bool, len(due)), rng: rand.New(rand.NewPCG(uint64(p.Rank), uint64(p.Replica)))}
}

// Ran comes after the body of a task that writes those regions. It reports whether
// a bit was turned.
func (f *Flips) Ran(regions []update.Region) (flipped bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.runs
	f.runs++
	bits := int64(update.Size(regions)) * 8
	for i, d := range f.due {
		switch {
		case d.Rate > 0 && f.rng.Float64() >= d.Rate, d.Rate == 0 && d.Task != n:
			continue
		case d.Bit == job.AnyBit && bits == 0 && d.Rate > 0:
			continue
		case d.Bit >= bits || bits == 0:
			return flipped, fmt.Errorf("-flip %v: what that task writes has %d bits", d, bits)
		}
		bit := d.Bit
		switch {
		case d.Rate > 0:
			bit = f.rng.Int64N(bits)
		case bit == job.AnyBit:
			bit = n * 0x5851f42d4c957f2d >> 1 & (1<<62 - 1) % bits
		}
		turn(regions, bit)
		f.fired[i], flipped = true, true
	}
	return flipped, nil
}

// turn turns a bit of what is written in regions.
func turn(regions []update.Region, bit int64) {
	at := bit / 8
	for i := range regions {
		if r := &regions[i]; r.Mode.Written() {
			if at < int64(len(r.Mem)) {
				r.Mem[at] ^= 1 << (bit % 8)
				return
			}
			at -= int64(len(r.Mem))
		}
	}
}

// Fired returns those that have come about.
func (f *Flips) Fired() (all []job.Flip) {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, fired := range f.fired {
		if fired {
			all = append(all, f.due[i])
		}
	}
	return all
}
