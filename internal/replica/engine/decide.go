package engine

import (
	"math/bits"
	"slices"
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
	// be the cause. Then the median is that of many sections.
	samples, many = 5, 15
	// The first warmUp sections are not measured, because they touch memory for the first
	// time.
	warmUp = 2
	// A decision changes only for a gain of 1/hysteresis, so that noise does not flip it.
	hysteresis = 10
	// One of the two ways to share replaces the other for a gain of 1/preference. They
	// are compared again after at least leastComparison sections.
	preference      = 20
	leastComparison = 256
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

// lossy lists when a way of sharing is rejected before the window is full: after the given
// number of samples, if each took more than percent of the time alone. A single sample may
// be slow because the machine is busy. So limits are higher for fewer samples, and highest
// if the updates do not explain the loss. Updates explain a loss if their known or
// estimated time is more than an eighth of the time alone.
var lossy = []struct {
	samples   int
	percent   time.Duration
	explained bool
}{{1, 3000, false}, {1, 300, true}, {2, 150, true}, {3, 125, true}}

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
	changed uint64 // number of sections of this kind after which shares changed last
}

// attempt is the state of sharing in one way.
type attempt struct {
	quotients window        // times of shared sections divided by their times alone; a quotient of 1 is stored as 1 s
	rejected  bool          // this way does not pay
	pause     uint64        // sections from one trial to the next
	transfer  time.Duration // time of the updates on the link, 0 if unknown
	cost      time.Duration // cost of the updates according to other sections; 0 if there were none
	guess     time.Duration // estimate of cost from the number of bytes
	touch     time.Duration // time to touch the memory of the updates for the first time
}

// candidates are the possible ways to share a section. transfer is the least time that
// sending takes, 0 if unknown.
type candidates struct {
	send, store bool
	bytes       int // size of all updates
	transfer    time.Duration
	costs       struct{ send, store time.Duration } // as attempt.cost
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

// window holds the last few of a series of durations.
type window struct {
	last [many]time.Duration
	n    int
}

func (w *window) add(d time.Duration) {
	w.last[w.n%many] = d
	w.n++
}

// median returns the median of the newest durations, of at most most of them.
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

// costs records the cost of sharing, without the bodies that ran here. For large updates
// that is the time of their bytes, by the size as a power of two. For smaller ones it is
// mostly the time of claims, frames and waits, whatever the size.
type costs struct {
	large [bits.UintSize + 1]window
	small window
}

const (
	// costly is the least size of updates whose bytes explain the cost of sharing. For smaller
	// updates the cause may be the machine or a late peer, so the cost is taken from at least
	// leastKnown sections. Before that it is assumed to be leastCost, which is a lower bound on
	// any machine.
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
		known = new(decision)
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
		later = samples
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
		a.giveUp(a.transfer+d.alone.least()/2, d.alone.least())
		return false
	}
	updates := a.updates()
	switch {
	case a.rejected && !a.trial(d.runs-min(d.runs, later)):
		return false
	// A single section of a trial does not decide: its updates may have been slow only
	// because the machine was busy.
	case a.rejected || a.quotients.n == 1 || a.quotients.n >= samples || updates < negligible && d.alone.n < foresight:
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
		a.giveUp(forecast, alone)
		return false
	}
	return true
}

// clear reports whether sharing is clearly worth a trial: the bodies take much longer than
// the updates, even after subtracting the time to touch memory for the first time.
func (a *attempt) clear(alone time.Duration) bool { return alone-a.touch > certain*a.updates() }

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

// updates returns the known or estimated time of the updates.
func (a *attempt) updates() time.Duration { return max(a.transfer, a.cost, a.guess) }

// forecast returns the expected least time of a section that is shared, and the time from
// which on sharing is not worth a trial. A transfer can overlap with the half of the
// computation that remains. So it counts only if it takes almost as long as the section
// alone. The cost of sharing other sections is added. If that cost is only guessed, the
// limit is higher.
func (a *attempt) forecast(alone time.Duration) (shared, most time.Duration) {
	switch {
	case a.transfer >= alone-alone/hysteresis:
		return alone/2 + max(a.transfer, a.cost), alone
	case a.cost > 0:
		return alone/2 + a.cost, alone + alone/hysteresis
	}
	return alone/2 + a.guess, alone + alone/2
}

// better chooses between two ways that both seem to pay, or that both have to be tried.
func (d *decision) better() direct.Way {
	s, u := &d.storing, &d.sending
	switch {
	case s.rejected, !u.rejected && s.quotients.n < samples, u.quotients.n < samples && d.slower(u, s):
		return direct.Store
	case u.rejected, u.quotients.n < samples:
		return direct.Send
	}
	best, other := s, u
	if d.sends {
		best, other = u, s
	}
	if now, then := other.quotients.median(samples), best.quotients.median(samples); now < then-then/preference {
		d.sends = !d.sends
		best, other = other, best
	}
	// The slower the other way was, the later it is tried again.
	loss := other.quotients.median(samples) - best.quotients.median(samples)
	if d.runs%max(pauseAfter(loss, one), leastComparison) == 0 {
		other.quotients = window{}
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
	return float64(forecast) > float64(alone)*other.quotients.median(samples).Seconds()
}

// trial reports whether this section tries sharing again, to see whether it pays now.
// Trials depend on the number of sections, not on time, so that all replicas try at
// once. A trial takes as many sections as a median needs.
func (a *attempt) trial(runs uint64) bool {
	if runs < a.pause || runs%a.pause >= samples {
		return false
	}
	if runs%a.pause == 0 {
		a.quotients = window{} // a trial is judged only by its own sections
	}
	return true
}

// giveUp rejects this way of sharing, and sets when to try it again. The greater the loss,
// the later the trial.
func (a *attempt) giveUp(shared, alone time.Duration) {
	a.pause, a.rejected = pauseAfter(shared-alone, alone), true
}

// pauseAfter returns the number of sections before the next trial. loss is the extra time
// of a trial compared to the other way. The number is a power of two, so that replicas
// with slightly different measurements still try together.
func pauseAfter(loss, alone time.Duration) uint64 {
	n := uint64(max(loss, 0)) * samples * trialCost / uint64(max(alone, 1))
	return uint64(1) << min(max(bits.Len64(n), 5), 40)
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
	a.judge(a.updates() > alone/8, o.way == direct.Send)
}

// one is the quotient 1.
const one = time.Second

// judge decides from the shared sections whether this way pays. explained means that the
// updates can be the reason for a loss. Part of the cost of sending long updates comes
// after the section: processors still move them over the link, and the next sections take
// longer. So a section with long updates has to be shorter by a tenth, and is tried less
// often.
func (a *attempt) judge(explained, sent bool) {
	n, q, most, loss := a.quotients.n, a.quotients.median(samples), one+one/hysteresis, time.Duration(0)
	if explained && sent {
		most, loss = one-one/hysteresis, one/2
	}
	switch {
	case n < samples:
		for _, l := range lossy {
			if n == l.samples && a.quotients.least() > one*l.percent/100 && (explained || !l.explained) {
				a.giveUp(q, one)
			}
		}
	case q < one-one/hysteresis:
		a.rejected = false
	case !explained && n < many:
	case !explained && a.quotients.median(many) <= most:
	case q > most:
		a.giveUp(max(q, one+loss), one)
	}
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
