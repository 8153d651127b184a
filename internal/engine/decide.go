package engine

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
	task  *Kernel // of the first task
	tasks int
	bytes int // of all updates, as a power of two
}

const (
	// samples is how many sections a time is the median of: a single one
	// says little on a busy machine. Where the updates do not explain that
	// sharing took longer, the machine may, and it takes more of them.
	samples, many = 5, 15
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
// explain it, it has to be beyond that. They do if they take more than an
// eighth of the time alone.
var lossy = []struct {
	samples   int
	percent   time.Duration
	explained bool
}{{1, 3000, false}, {1, 300, true}, {2, 150, true}, {3, 125, true}}

// decision is what is known of one kind of section.
type decision struct {
	runs      uint64
	quotients window // of whole sections that were shared and what they take alone, as durations: 1 s is 1
	alone     window // what all bodies take here, without sharing
	replicate bool
	pause     uint64        // sections from one trial of sharing to the next
	transfer  time.Duration // of the updates, 0 if that is not known
}

// execution is how a section went on this replica.
type execution struct {
	policy  sched.Policy
	took    time.Duration
	spent   time.Duration // in bodies
	ran     int           // bodies
	tasks   int
	workers int
	met     bool // a peer was there
}

// window holds the last few of a series of durations.
type window struct {
	last [many]time.Duration
	n    int
}

func (w *window) add(d time.Duration) {
	w.last[w.n%many] = d
	w.n++
}

// median returns that of the newest, up to so many.
func (w *window) median(most int) time.Duration {
	var s [many]time.Duration
	n := min(w.n, most)
	for i := range n {
		s[i] = w.last[(w.n-1-i)%many]
	}
	slices.Sort(s[:n])
	return s[n/2]
}

func (w *window) least() time.Duration { return slices.Min(w.last[:min(w.n, many)]) }

func newDecisions() decisions { return decisions{of: make(map[decisionKey]*decision)} }

// about returns what is known of sections like s, and the size of its updates.
func (d *decisions) about(s *Section) (_ *decision, bytes int) {
	if len(s.Tasks) == 0 || d.never {
		return new(decision), 0
	}
	for i := range s.Tasks {
		bytes += s.Tasks[i].bytes
	}
	key := decisionKey{s.Tasks[0].Kernel, len(s.Tasks), bits.Len(uint(bytes))}
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
	// What looked like computation in the first sections may have been memory
	// touched for the first time.
	if transfer >= forbidding && d.alone.n > foresight && transfer >= d.alone.least() {
		d.giveUp(transfer+d.alone.least()/2, d.alone.least())
		return sched.Replicate
	}
	switch {
	case d.replicate && !d.trial():
		return sched.Replicate
	case d.replicate || d.quotients.n > 0 || transfer < negligible:
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

// learn takes in how a section went. Alone this replica would have taken as
// many rounds of its workers as the bodies need. Each section is compared with
// what that one would have taken: those of one kind may differ, and the window
// must not mix them.
func (d *decision) learn(o execution) {
	warming := d.runs <= warmUp
	if warming && d.alone.n >= foresight {
		return
	}
	var alone time.Duration
	switch {
	case o.ran > 0:
		rounds := (o.tasks + o.workers - 1) / o.workers
		alone = o.spent * time.Duration(rounds) / time.Duration(o.ran)
		d.alone.add(alone)
	case d.alone.n > 0: // the peers were here before and have done everything
		alone = d.alone.median(samples)
	}
	if warming || alone == 0 {
		return
	}
	if o.policy == sched.Replicate {
		d.quotients = window{} // the next trial stands for itself
		return
	}
	took := o.took
	if o.ran == o.tasks && !o.met {
		// The peers are far behind or ahead, which is not the fault of
		// sharing. With them here, half of the bodies would have run, half
		// of the updates been sent and the other half received.
		took -= alone / 2
	}
	d.quotients.add(time.Duration(float64(took) / float64(alone) * float64(one)))
	d.judge(d.transfer > alone/8)
}

// one is a quotient of 1.
const one = time.Second

// judge decides by the sections that were shared; explained says that it can
// be the updates that took long.
func (d *decision) judge(explained bool) {
	n, q := d.quotients.n, d.quotients.median(samples)
	switch {
	case n < samples:
		for _, l := range lossy {
			if n == l.samples && d.quotients.least() > one*l.percent/100 && (explained || !l.explained) {
				d.giveUp(q, one)
			}
		}
	case q < one-one/hysteresis:
		d.replicate = false
	case !explained && n < many:
	case !explained && d.quotients.median(many) <= one+one/hysteresis:
	case q > one+one/hysteresis:
		d.giveUp(q, one)
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
