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
	// Transfers that take less are no reason not to try sharing. Those that
	// take more than the second are a reason to see first what the bodies
	// take, in a section that is not shared.
	negligible, forbidding = 100 * time.Microsecond, 5 * time.Millisecond
	// foresight is how many sections that takes: the first one may touch its
	// memory for the first time.
	foresight = 2
)

// lossy says of how many samples of sharing each must be how much longer than
// the time alone, in percent, for sharing to be given up before the window is
// full. A single sample may be the fault of a busy machine; unless the updates
// explain it, it has to be beyond that.
var lossy = []struct {
	samples   int
	percent   time.Duration
	explained bool
}{{1, 3000, false}, {1, 300, true}, {2, 150, true}, {3, 125, true}}

// decision is what is known of one kind of section.
type decision struct {
	runs      uint64
	shared    window // durations of whole sections that were shared
	alone     window // what all bodies take here, without sharing
	replicate bool
	pause     uint64        // sections from one trial of sharing to the next
	transfer  time.Duration // of the updates, 0 if that is not known
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

func (w *window) least() time.Duration { return slices.Min(w.last[:min(w.n, samples)]) }

func newDecisions() decisions { return decisions{of: make(map[decisionKey]*decision)} }

// about returns what is known of sections like s, and the size of its updates.
func (d *decisions) about(s *Section) (_ *decision, bytes int) {
	if len(s.tasks) == 0 || d.never {
		return new(decision), 0
	}
	for i := range s.tasks {
		bytes += s.tasks[i].bytes
	}
	key := decisionKey{s.tasks[0].task, len(s.tasks), bits.Len(uint(bytes))}
	if d.of[key] == nil {
		d.of[key] = new(decision)
	}
	return d.of[key], bytes
}

// policy returns how to run the next section of this kind, whose updates take
// at least that long to be sent, if that is known and not 0. Where that alone
// is no shorter than the computation, sharing is not even tried.
func (d *decision) policy(transfer time.Duration) sched.Policy {
	d.runs++
	d.transfer = transfer
	switch {
	case d.replicate && !d.trial():
		return sched.Replicate
	case d.replicate || d.shared.n > 0 || transfer < negligible:
		return sched.Adaptive
	case d.alone.n == 0 && transfer < forbidding:
		return sched.Adaptive
	case d.alone.n < foresight && transfer >= forbidding:
		return sched.Replicate // see first what it takes
	}
	if alone := d.alone.least(); transfer >= alone-alone/hysteresis {
		d.giveUp(alone/2+transfer, alone)
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
// its n bodies this replica ran some, in the time spent, on so many workers:
// alone it would take as many rounds of them as that needs.
func (d *decision) learn(p sched.Policy, took, spent time.Duration, ran, n, workers int) {
	warming := d.runs <= warmUp
	if ran == 0 || warming && d.alone.n >= foresight {
		return
	}
	rounds := (n + workers - 1) / workers
	d.alone.add(spent * time.Duration(rounds) / time.Duration(ran))
	if warming {
		return
	}
	if p == sched.Replicate {
		d.shared = window{} // the next trial stands for itself
		return
	}
	d.shared.add(took)
	shared, alone := d.shared.median(), d.alone.median()
	switch {
	case !d.shared.full():
		least := d.shared.least()
		explained := d.transfer > alone/8
		for _, l := range lossy {
			if d.shared.n == l.samples && least > alone*l.percent/100 && (explained || !l.explained) {
				d.giveUp(shared, alone)
			}
		}
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
