package fault

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/update"
)

// Flips flips bits of results of tasks, updates, messages and states, as requested
// (intrarun's -fault flip and defect).
type Flips struct {
	mu     sync.Mutex
	due    []job.Flip
	fired  []bool
	runs   int64 // number of bodies so far
	came   int64 // number of updates so far
	sent   int64 // number of messages so far
	passed int64 // number of safe points so far
	rng    *rand.Rand
}

// NewFlips returns the flips of one process, nil if none were requested.
func NewFlips(due []job.Flip) *Flips {
	if len(due) == 0 {
		return nil
	}
	p := due[0].Process
	return &Flips{due: due, fired: make([]bool, len(due)), rng: rand.New(rand.NewPCG(uint64(p.Rank), uint64(p.Replica)))}
}

// Ran is called after the body of a task that writes those regions. It reports whether
// it flipped a bit.
func (f *Flips) Ran(regions []update.Region) (flipped bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.runs
	f.runs++
	bits := int64(update.Size(regions)) * 8
	for i, d := range f.due {
		switch {
		case d.Point != job.FlipTask, d.Rate > 0 && f.rng.Float64() >= d.Rate, d.Rate == 0 && d.Count != n:
			continue
		case d.Bit == job.AnyBit && bits == 0 && d.Rate > 0:
			continue
		case d.Bit >= bits || bits == 0:
			return flipped, fmt.Errorf("-fault flip:%v: what that task writes has %d bits", d, bits)
		}
		bit := d.Bit
		switch {
		case d.Rate > 0:
			bit = f.rng.Int64N(bits)
		case bit == job.AnyBit:
			bit = anyBit(n, bits)
		}
		turn(regions, bit)
		f.fired[i], flipped = true, true
	}
	return flipped, nil
}

// anyBit chooses one of bits bits, by a hash of n.
func anyBit(n, bits int64) int64 { return n * 0x5851f42d4c957f2d >> 1 & (1<<62 - 1) % bits }

// Sent is called before a message that is not empty is sent to a process of another
// rank. It returns the payload to send, which is a copy if a bit is flipped.
func (f *Flips) Sent(payload []byte) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.sent
	f.sent++
	return f.turned(job.FlipMessage, n, payload, false)
}

// Came is called with a complete, non-empty update before it is used. It returns the
// payload to use. That is the same memory, unless a bit is flipped and the process does
// not own the memory: then it is a copy.
func (f *Flips) Came(payload []byte, own bool) (came []byte, flipped bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, fired := f.came, slices.Clone(f.fired)
	f.came++
	came, err = f.turned(job.FlipUpdate, n, payload, own)
	return came, !slices.Equal(fired, f.fired), err
}

// turned flips the bits that are due in the n-th payload of a kind, in place if inPlace is
// set.
func (f *Flips) turned(point job.FlipPoint, n int64, payload []byte, inPlace bool) ([]byte, error) {
	bits := int64(len(payload)) * 8
	for i, d := range f.due {
		if d.Point != point || d.Count != n {
			continue
		}
		bit := d.Bit
		if bit == job.AnyBit {
			bit = anyBit(n, bits)
		}
		if bit >= bits {
			return payload, fmt.Errorf("-fault flip:%v: that %s has %d bits", d, point, bits)
		}
		if !inPlace {
			payload, inPlace = slices.Clone(payload), true
		}
		payload[bit/8] ^= 1 << (bit % 8)
		f.fired[i] = true
	}
	return payload, nil
}

// Passed is called at a safe point, with the memory of the registered state. It reports
// whether it flipped a bit.
func (f *Flips) Passed(state [][]byte) (flipped bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.passed
	f.passed++
	bits := int64(0)
	for _, mem := range state {
		bits += int64(len(mem)) * 8
	}
	for i, d := range f.due {
		if d.Point != job.FlipState || d.Count != n {
			continue
		}
		if d.Bit >= bits || bits == 0 {
			return flipped, fmt.Errorf("-fault flip:%v: the registered state has %d bits", d, bits)
		}
		bit := d.Bit
		if bit == job.AnyBit {
			bit = anyBit(n, bits)
		}
		for _, mem := range state {
			if size := int64(len(mem)) * 8; bit >= size {
				bit -= size
				continue
			}
			mem[bit/8] ^= 1 << (bit % 8)
			break
		}
		f.fired[i], flipped = true, true
	}
	return flipped, nil
}

// turn flips a bit of the written regions.
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

// Fired returns the flips that have happened.
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
