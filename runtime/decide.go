package intra

import (
	"math/bits"
	"slices"
	"time"

	"github.com/intrahpc/intra/sched"
)

// Sharing pays only if a section takes less time with it than without: the
// updates must cost less than the computation they save. That is measured,
// for each type of task and size of its updates, and decided for each replica
// by itself. A replica that does not share runs every task and sends nothing;
// since nobody waits for what nobody has claimed, its peers need not agree.
type decisions struct {
	of    map[decisionKey]*decision
	never bool // replicate
}

// decisionKey tells sections apart whose times cannot be compared.
type decisionKey struct {
	task  *Task // of the first task
	tasks int
	bytes int // of all updates, as a power of two
}

const (
	// samples is how many sections a time is the median of: a single one
	// says little on a busy machine.
	samples = 5
	// warmUp sections are not measured: they touch memory for the first time.
	warmUp = 2
	// A decision changes only for a gain of a tenth, so that noise does not
	// turn it back and forth.
	hysteresis = 10
	// trialCost is the part of the time that trials of sharing may cost, as
	// its inverse.
	trialCost = 50
	// hopeless sections take so many times longer when shared that one
	// sample is enough.
	hopeless = 3
)

// decision is what is known of one kind of section.
type decision struct {
	runs      uint64
	shared    window // durations of whole sections that were shared
	alone     window // what all bodies take, one after the other
	replicate bool
	pause     uint64 // sections from one trial of sharing to the next
}

// window holds the last few of a series of durations.
type window struct {
	last [samples]time.Duration
	n    int
}

func (w *window) add(d time.Duration) {
	w.last[w.n%samples] = d
	w.n++
}

func (w *window) full() bool { return w.n >= samples }

func (w *window) median() time.Duration {
	s := w.last
	n := min(w.n, samples)
	slices.Sort(s[:n])
	return s[n/2]
}

func newDecisions() decisions { return decisions{of: make(map[decisionKey]*decision)} }

func (d *decisions) about(s *Section) *decision {
	if len(s.tasks) == 0 || d.never {
		return new(decision)
	}
	bytes := 0
	for i := range s.tasks {
		bytes += s.tasks[i].bytes
	}
	key := decisionKey{s.tasks[0].task, len(s.tasks), bits.Len(uint(bytes))}
	if d.of[key] == nil {
		d.of[key] = new(decision)
	}
	return d.of[key]
}

// policy returns how to run the next section of this kind.
func (d *decision) policy() sched.Policy {
	d.runs++
	if d.replicate && !d.trial() {
		return sched.Replicate
	}
	return sched.Adaptive
}

// trial reports whether this section tries sharing again, to see whether it
// pays now. Trials are counted, not timed, so that all replicas try at once;
// one takes as many sections as a median needs.
func (d *decision) trial() bool { return d.runs%d.pause < samples && d.runs >= d.pause }

// giveUp decides to replicate, and when to try again: the worse sharing was,
// the later. A power of two, so that replicas which measure slightly different
// times still try together.
func (d *decision) giveUp(shared, alone time.Duration) {
	loss := uint64(max(shared-alone, 0)) * samples * trialCost / uint64(max(alone, 1))
	d.pause = uint64(1) << min(max(bits.Len64(loss), 5), 40)
	d.replicate = true
}

// learn takes in a section that ran with that policy and took that long; of
// its n bodies this replica ran some, in the time spent.
func (d *decision) learn(p sched.Policy, took, spent time.Duration, ran, n int) {
	if d.runs <= warmUp || ran == 0 {
		return
	}
	d.alone.add(spent * time.Duration(n) / time.Duration(ran))
	if p == sched.Replicate {
		d.shared = window{} // the next trial stands for itself
		return
	}
	d.shared.add(took)
	shared, alone := d.shared.median(), d.alone.median()
	switch {
	case shared > hopeless*alone:
		d.giveUp(shared, alone)
	case !d.shared.full():
	case shared > alone+alone/hysteresis:
		d.giveUp(shared, alone)
	case shared < alone-alone/hysteresis:
		d.replicate = false
	}
}

// word is the decision as the report names it.
func (d *decision) word() string {
	if d.replicate {
		return "replicate"
	}
	return "share"
}

// average weighs the newest of a series by a quarter.
func average(old, now time.Duration) time.Duration {
	if old == 0 {
		return now
	}
	return (3*old + now) / 4
}
