package engine

import (
	"math/bits"
	"time"

	"github.com/intrahpc/intra/internal/replica/direct"
	"github.com/intrahpc/intra/update"
)

// decisions are, for each kind of section, whether to share it, and how. Sharing pays only
// if the updates cost less than the computation that they save. The costs are measured for
// each kind of section and each way to share: sending results, and storing them.
//
// Each replica decides by itself. A replica that does not share runs every task and sends
// nothing. Its peers need not agree, because no replica waits for a task that is not
// claimed. Only replicas that can store into each other's arrays agree, in stores.agree:
// they follow the decision of the first replica among them.
type decisions struct {
	of    map[decisionKey]*decision
	never bool // never replicate: every section is shared (for tests)
	// costs are the costs of shared sections of all kinds, for each way. They predict the
	// cost of sharing another kind whose updates have the same size.
	costs struct{ send, store costs }
}

// decisionKey distinguishes sections whose times cannot be compared.
type decisionKey struct {
	task  *Kernel // kernel of the first task
	tasks int
	bytes int // size of all updates, as a power of two
}

const (
	// samples is the number of sections in a median, because a single time proves little on
	// a busy machine. If the updates do not explain why sharing took longer, the machine may
	// be the cause. Then the median is that of many sections. The same applies to sections that
	// take less than short alone, because an interruption takes longer than such a section.
	samples, many = 5, 15
	short         = 100 * time.Microsecond
	// A trial of short sections is ended early only if it loses more than lasting in each.
	lasting = 5 * time.Millisecond
	// The first warmUp sections are not measured, because they touch memory for the first
	// time.
	warmUp = 2
	// A decision changes only for a gain of 1/hysteresis, so that noise does not flip it.
	hysteresis = 10
	// One of the two ways to share replaces the other for a gain of 1/preference. They
	// are compared again after at least leastComparison times the sections of a trial.
	preference      = 20
	leastComparison = 64
	// If both ways are possible, updates of less than sendable bytes are first sent, and larger
	// ones first stored. Before a replica can store, it has to wait for its peers to enter the
	// section.
	sendable = 64 << 10
	// Trials of sharing may cost 1/trialCost of the time.
	trialCost = 50
	// Updates that take less than negligible do not prevent the first sections from being
	// shared. If they take more than forbidding, the time of the bodies is measured first,
	// in one task or in a section that is not shared.
	negligible, forbidding = 100 * time.Microsecond, 5 * time.Millisecond
	// guessed is the number of bytes of updates that are assumed to cost one nanosecond
	// while nothing is known. Updates are copied to the link and from it, and do not stay in
	// caches.
	guessed = 2
	// foresight is the number of sections after which the time of the bodies is trusted. The
	// first section may touch its memory for the first time.
	foresight = 2
	// touching is the number of bytes of updates that are assumed to be touched for the
	// first time in one nanosecond. That time is subtracted from the time of the bodies. If
	// the rest is more than certain times the time of the updates, the first section, or its
	// first task, suffices to try sharing.
	touching, certain = 1, 4
)

// decision is the state of one kind of section.
type decision struct {
	runs    uint64
	alone   window  // time of all bodies, on this replica, without sharing
	sending attempt // sharing by sending results
	storing attempt // sharing by storing results
	sends   bool    // sending is better than storing, if both pay
	tries   bool    // the first section of its kind is shared only until one task has been measured

	stored    uint64 // 1 + the number of the last section whose results were stored; 0: none
	elsewhere bool   // on some replica, results cannot be stored into the arrays of the program

	shares  bool   // the last section was shared, and not as a trial
	changed uint64 // number of sections of this kind before shares last changed
}

// candidates are the possible ways to share a section. transfer is the least time that
// sending takes, 0 if unknown.
type candidates struct {
	send, store bool
	bytes       int // size of all updates
	transfer    time.Duration
	costs       struct{ send, store time.Duration } // costs according to other sections, see attempt.cost
}

// execution describes how this replica has executed a section.
type execution struct {
	way     direct.Way
	bytes   int // size of all updates
	took    time.Duration
	spent   time.Duration // time in bodies
	ran     int           // number of bodies run
	along   int           // number of bodies that stored their results as they ran; spent does not include them
	tasks   int
	workers int
	met     bool // a peer took part
}

func newDecisions() decisions { return decisions{of: make(map[decisionKey]*decision)} }

// about returns the decision on sections like s, and the size of the updates of s. It sets
// the size of the updates of each task.
func (d *decisions) about(s *Section) (_ *decision, bytes int) {
	if len(s.Tasks) == 0 || d.never {
		return new(decision), 0
	}
	for i := range s.Tasks {
		t := &s.Tasks[i]
		t.bytes = update.Size(t.Regions)
		bytes += t.bytes
	}
	key := decisionKey{s.Tasks[0].Kernel, len(s.Tasks), bits.Len(uint(bytes))}
	known := d.of[key]
	if known == nil {
		known = &decision{sends: bytes < sendable}
		d.of[key] = known
	}
	return known, bytes
}

// propose returns how to run the next section of this kind.
func (d *decision) propose(c candidates) direct.Way {
	d.runs++
	d.tries = false
	d.sending.transfer = c.transfer
	d.sending.cost, d.storing.cost = c.costs.send, c.costs.store
	d.sending.guess = time.Duration(c.bytes) / guessed
	if c.bytes < costly {
		d.sending.cost += d.sending.guess // the bytes of small updates are not part of it
	}
	d.sending.touch = time.Duration(c.bytes) / touching
	d.storing.touch = d.sending.touch
	// The two ways must not be tried in the same sections.
	var later uint64
	if c.store {
		later = uint64(d.needed())
	}
	store := c.store && d.wanted(&d.storing, 0)
	send := c.send && d.wanted(&d.sending, later)
	switch {
	case store && send:
		return d.better()
	case store:
		return direct.Store
	case send:
		return direct.Send
	}
	return direct.Replicate
}

// wanted reports whether this section should be shared in one way, regardless of the other
// way. If the updates alone take as long as the computation, sharing is not even tried.
func (d *decision) wanted(a *attempt, later uint64) bool {
	// In the first sections, touching memory for the first time may look like computation.
	// So the bodies must have been measured more often.
	if a.transfer >= forbidding && d.alone.n > foresight && a.transfer >= d.alone.least() {
		a.giveUp(a.transfer+d.alone.least()/2, d.alone.least(), d.needed())
		return false
	}
	updates := a.updates()
	switch {
	case a.rejected && !a.trial(d.runs-min(d.runs, later), d.needed()):
		return false
	// A single section of a trial does not decide: its updates may have been slow only
	// because the machine was busy. A trial of short sections costs little, so it is completed.
	case a.rejected || a.quotients.n == 1 || a.quotients.n > 0 && d.needed() == many || a.typical > 0 || updates < negligible && d.alone.n < foresight:
		return true
	case d.alone.n == 0 && updates < forbidding:
		return true
	case d.alone.n == 0:
		d.tries = a == &d.sending // a trial of storing cannot end after one task, so the bodies are measured first
		return d.tries
	case d.alone.n < foresight && updates >= forbidding:
		return a.clear(d.alone.least())
	}
	alone := d.alone.least()
	if forecast, most := a.forecast(alone); forecast > most {
		a.giveUp(forecast, alone, d.needed())
		return false
	}
	return true
}

// goesOn reports whether a trial of sharing continues after ran bodies, which took
// spent.
func (d *decision) goesOn(spent time.Duration, ran, tasks, workers int) bool {
	return d.sending.clear(bodies(spent, ran, tasks, workers))
}

// bodies returns how long all tasks take with that many workers, if ran of the tasks took
// spent.
func bodies(spent time.Duration, ran, tasks, workers int) time.Duration {
	rounds := (tasks + workers - 1) / workers
	return spent * time.Duration(rounds) / time.Duration(ran)
}

// better chooses between two ways that both seem to pay, or that both have to be tried.
func (d *decision) better() direct.Way {
	s, u := &d.storing, &d.sending
	best, other := s, u
	if d.sends {
		best, other = u, s
	}
	switch {
	case s.rejected:
		return direct.Store
	case u.rejected:
		return direct.Send
	case best.typical == 0:
	case other.typical > 0 && other.typical < best.typical-best.typical/preference:
		d.sends = !d.sends
		best = other
	case other.typical > 0:
		// The slower the other way was, the later it is tried again.
		least := uint64(1) << bits.Len(uint(leastComparison*d.needed()-1))
		if d.runs%max(pauseAfter(other.typical-best.typical, one, d.needed()), least) != 0 {
			break
		}
		other.renew()
		best = other
	case !d.slower(other, best):
		best = other
	}
	if best == u {
		return direct.Send
	}
	return direct.Store
}

// slower reports whether one way, which has not been tried, is expected to take longer than
// the other one does.
func (d *decision) slower(one, other *attempt) bool {
	if d.alone.n == 0 || one.rejected {
		return false
	}
	alone := d.alone.median(samples)
	forecast, _ := one.forecast(alone)
	return float64(forecast) > float64(alone)*other.typical.Seconds()
}

// learn records how a section was executed. It compares the section with the time that
// this replica would have needed alone: as many rounds of its workers as the tasks
// require. Sections of one kind may differ, so each one is compared with its own time
// alone.
func (d *decision) learn(o execution, known *decisions) {
	warming := d.runs <= warmUp
	if warming && d.alone.n >= foresight {
		return
	}
	var alone time.Duration
	switch {
	case o.ran > o.along:
		alone = bodies(o.spent, o.ran-o.along, o.tasks, o.workers)
		d.alone.add(alone)
	case o.ran > 0:
		return // the time alone is unknown
	case d.alone.n > 0: // the peers have run all tasks
		alone = d.alone.median(samples)
	}
	if warming || alone == 0 {
		return
	}
	a, c := &d.sending, &known.costs.send
	switch o.way {
	case direct.Replicate:
		return
	case direct.Store:
		a, c = &d.storing, &known.costs.store
	}
	if o.met && o.ran < o.tasks && o.along == 0 {
		// Exclude the wait for the last body of a peer.
		c.add(o.bytes, o.took-o.spent/time.Duration(o.workers)-o.spent/time.Duration(max(o.ran, 1)))
	}
	took := o.took
	if o.ran == o.tasks && !o.met {
		// The peers are far behind or ahead, and sharing is not the cause. With them, this
		// replica would have run half of the bodies, sent half of the updates and received the
		// other half.
		took -= alone / 2
	}
	a.quotients.add(time.Duration(float64(took) / float64(alone) * float64(one)))
	a.judge(alone, d.needed(), o.way == direct.Send)
}

// one is the quotient 1.
const one = time.Second

// needed returns the number of sections in a median of this kind.
func (d *decision) needed() int {
	if d.alone.n > 0 && d.alone.least() < short {
		return many
	}
	return samples
}

// word returns the decision as the report names it.
func (d *decision) word() string {
	if d.sending.rejected && (d.storing.rejected || d.storing.quotients.n == 0) || d.storing.rejected && d.sending.quotients.n == 0 {
		return "replicate"
	}
	return "share"
}

// settled records whether the last section was shared. It returns the number of sections
// after which sharing last began or ended. Trials do not count.
func (d *decision) settled(way direct.Way) uint64 {
	shares := way != direct.Replicate && d.word() == "share"
	if shares != d.shares && d.runs > 1 {
		d.changed = d.runs - 1
	}
	d.shares = shares
	return d.changed
}

// average returns a moving average in which the newest value weighs a quarter.
func average(old, now time.Duration) time.Duration {
	if old == 0 {
		return now
	}
	return (3*old + now) / 4
}
