package engine

import (
	"math/bits"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/replica/direct"
)

// Sharing pays only if a section takes less time with it than without: the
// updates must cost less than the computation they save. That is measured,
// for each type of task and size of its updates, and for each way to share: to
// send results, and to store them. Each replica decides by itself. A replica that
// does not share runs every task and sends nothing; since nobody waits for what
// nobody has claimed, its peers need not agree. Those that can store into each
// other's arrays do agree, in stores.agree: on what the first of them has decided.
type decisions struct {
	of    map[decisionKey]*decision
	never bool // replicate
	// costs are those of sections shared before, of any kind, in each way. They
	// forecast what sharing costs one of another kind with updates of that size.
	costs struct{ send, store costs }
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
	// Of the two ways to share, one takes the place of the other for a gain of a
	// twentieth. They are compared anew after so many sections at least.
	preference      = 20
	leastComparison = 256
	// trialCost is the part of the time that trials of sharing may cost, as
	// its inverse.
	trialCost = 50
	// Transfers that take less are no reason not to try sharing. Those that
	// take more than the second are a reason to see first what the bodies
	// take, in one task or a section that is not shared.
	negligible, forbidding = 100 * time.Microsecond, 5 * time.Millisecond
	// guessed is how many bytes of updates are taken to cost a nanosecond while nothing
	// is known: they are copied to the link and from it, and caches do not hold them.
	guessed = 2
	// foresight is how many sections that takes: the first one may touch its
	// memory for the first time.
	foresight = 2
	// touching is how many bytes of updates are taken to be touched for the first time in
	// a nanosecond, and certain how many times as long as the updates the bodies beside
	// that have to take if the first section alone, or its first task, is to say that
	// sharing is worth a try.
	touching, certain = 1, 4
)

// lossy says of how many samples of sharing each must be how much longer than
// the time alone, in percent, for sharing to be given up before the window is
// full. A single sample may be the fault of a busy machine; unless the updates
// explain it, it has to be beyond that. They do if they take, or have cost other sections,
// more than an eighth of the time alone.
var lossy = []struct {
	samples   int
	percent   time.Duration
	explained bool
}{{1, 3000, false}, {1, 300, true}, {2, 150, true}, {3, 125, true}}

// decision is what is known of one kind of section.
type decision struct {
	runs    uint64
	alone   window  // what all bodies take here, without sharing
	sending attempt // results are sent
	storing attempt // and stored
	sends   bool    // sending is the better of the two, if both pay
	tries   bool    // the section is the first, and shared until it is known what one task takes

	stored    uint64 // 1 + the number of the last section whose results were stored; 0: none
	elsewhere bool   // on some replica they lie where they cannot be stored

	shares  bool   // the last section was shared, and not for a trial
	changed uint64 // after how many sections that changed
}

// attempt is what is known of sharing in one way.
type attempt struct {
	quotients window        // of whole sections that were shared and what they take alone, as durations: 1 s is 1
	rejected  bool          // it does not pay
	pause     uint64        // sections from one trial to the next
	transfer  time.Duration // of the updates, 0 if that is not known
	cost      time.Duration // of the updates by the costs of other sections, 0 if there were none
	guess     time.Duration // of cost
	touch     time.Duration // of the memory of the updates, for the first time
}

// candidates are the ways to share a section. Sending takes at least as long as
// transfer, if that is known and not 0.
type candidates struct {
	send, store bool
	bytes       int // of all updates
	transfer    time.Duration
	costs       struct{ send, store time.Duration } // attempt.cost
}

// execution is how a section went on this replica.
type execution struct {
	way     direct.Way
	bytes   int // of all updates
	took    time.Duration
	spent   time.Duration // in bodies
	ran     int           // bodies
	along   int           // of them that have stored their results meanwhile, and are not in spent
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

// costs is what sharing has cost beside the bodies that ran here, for updates of so
// many bytes, as a power of two.
type costs [bits.UintSize + 1]window

// costly updates are so long that their bytes, rather than the machine or a peer that
// comes later, explain what sharing costs.
const costly = 256 << 10

func (c *costs) add(bytes int, cost time.Duration) {
	if bytes >= costly {
		c[bits.Len(uint(bytes))].add(time.Duration(float64(max(cost, 0)) * perByte / float64(bytes)))
	}
}

// of returns the least that updates of about so many bytes have cost lately, 0 if
// there were none.
func (c *costs) of(bytes int) time.Duration {
	w := &c[bits.Len(uint(bytes))]
	if w.n == 0 {
		return 0
	}
	return time.Duration(float64(w.least()) * float64(bytes) / perByte)
}

// perByte is of how many bytes costs keeps the time, so that it is a long one.
const perByte = 1 << 20

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

// propose returns how to run the next section of this kind.
func (d *decision) propose(c candidates) direct.Way {
	d.runs++
	d.tries = false
	d.sending.transfer = c.transfer
	d.sending.cost, d.storing.cost = c.costs.send, c.costs.store
	d.sending.guess = time.Duration(c.bytes) / guessed
	d.sending.touch = time.Duration(c.bytes) / touching
	d.storing.touch = d.sending.touch
	// What both are tried for anew is not tried at the same time.
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

// wanted reports whether this section is to be shared in one way, as far as that
// does not depend on the other. Where the updates alone take no less than the
// computation, sharing is not even tried.
func (d *decision) wanted(a *attempt, later uint64) bool {
	// What looked like computation in the first sections may have been memory
	// touched for the first time.
	if a.transfer >= forbidding && d.alone.n > foresight && a.transfer >= d.alone.least() {
		a.giveUp(a.transfer+d.alone.least()/2, d.alone.least())
		return false
	}
	updates := a.updates()
	switch {
	case a.rejected && !a.trial(d.runs-min(d.runs, later)):
		return false
	// After one section of a trial what updates cost may be the fault of the machine.
	case a.rejected || a.quotients.n == 1 || a.quotients.n >= samples || updates < negligible:
		return true
	case d.alone.n == 0 && updates < forbidding:
		return true
	case d.alone.n == 0:
		d.tries = a == &d.sending // else see first what it takes
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

// clear reports whether the bodies take so much longer than the updates, if they take so
// long alone, that sharing is worth a try although they may have touched their memory for
// the first time.
func (a *attempt) clear(alone time.Duration) bool { return alone-a.touch > certain*a.updates() }

// goesOn reports whether sharing, which is tried, is to go on after so many bodies, which
// have taken so long.
func (d *decision) goesOn(spent time.Duration, ran, tasks, workers int) bool {
	return d.sending.clear(bodies(spent, ran, tasks, workers))
}

// bodies is how long all tasks take so many workers if some of them have taken so long.
func bodies(spent time.Duration, ran, tasks, workers int) time.Duration {
	rounds := (tasks + workers - 1) / workers
	return spent * time.Duration(rounds) / time.Duration(ran)
}

// updates is what they take, as far as that is known or can be guessed.
func (a *attempt) updates() time.Duration { return max(a.transfer, a.cost, a.guess) }

// forecast returns how long a section is expected to take if it is shared, at least,
// and from when on it is not worth a trial. Transfers can be hidden behind half of the
// computation. What sharing has cost other sections comes on top of it. Where that is
// only guessed there has to be more against it.
func (a *attempt) forecast(alone time.Duration) (shared, most time.Duration) {
	switch {
	case a.transfer >= alone-alone/hysteresis:
		return alone/2 + max(a.transfer, a.cost), alone
	case a.cost > 0:
		return alone/2 + a.cost, alone + alone/hysteresis
	}
	return alone/2 + a.guess, alone + alone/2
}

// better chooses between two ways that both seem to pay, or have to be tried.
func (d *decision) better() direct.Way {
	s, u := &d.storing, &d.sending
	switch {
	case s.rejected, !u.rejected && s.quotients.n < samples:
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
	// The other one is tried again the later the worse it was.
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

// trial reports whether this section tries sharing again, to see whether it
// pays now. Trials are counted, not timed, so that all replicas try at once;
// one takes as many sections as a median needs.
func (a *attempt) trial(runs uint64) bool {
	if runs < a.pause || runs%a.pause >= samples {
		return false
	}
	if runs%a.pause == 0 {
		a.quotients = window{} // it stands for itself
	}
	return true
}

// giveUp decides not to share this way, and when to try again: the worse sharing
// was, the later.
func (a *attempt) giveUp(shared, alone time.Duration) {
	a.pause, a.rejected = pauseAfter(shared-alone, alone), true
}

// pauseAfter returns how many sections to wait with a trial that costs so much
// more than the other way takes. A power of two, so that replicas which measure
// slightly different times still try together.
func pauseAfter(loss, alone time.Duration) uint64 {
	n := uint64(max(loss, 0)) * samples * trialCost / uint64(max(alone, 1))
	return uint64(1) << min(max(bits.Len64(n), 5), 40)
}

// learn takes in how a section went. Alone this replica would have taken as
// many rounds of its workers as the bodies need. Each section is compared with
// what that one would have taken: those of one kind may differ, and the window
// must not mix them.
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
		return // what it would have taken alone is not known
	case d.alone.n > 0: // the peers were here before and have done everything
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
		// It may have waited for as long as the peer's last body took.
		c.add(o.bytes, o.took-o.spent/time.Duration(o.workers)-o.spent/time.Duration(max(o.ran, 1)))
	}
	took := o.took
	if o.ran == o.tasks && !o.met {
		// The peers are far behind or ahead, which is not the fault of
		// sharing. With them here, half of the bodies would have run, half
		// of the updates been sent and the other half received.
		took -= alone / 2
	}
	a.quotients.add(time.Duration(float64(took) / float64(alone) * float64(one)))
	a.judge(a.updates() > alone/8, o.way == direct.Send)
}

// one is a quotient of 1.
const one = time.Second

// judge decides by the sections that were shared; explained says that it can
// be the updates that took long. If they were sent, a part of that comes after the
// section: the processors still carry what went over the link, and the next sections take
// longer. So such a section has to be shorter by a tenth, and is tried less often.
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

// word is the decision as the report names it.
func (d *decision) word() string {
	if d.sending.rejected && (d.storing.rejected || d.storing.quotients.n == 0) || d.storing.rejected && d.sending.quotients.n == 0 {
		return "replicate"
	}
	return "share"
}

// settled takes in how the last section went, and returns after how many of them sharing
// has begun or ended last. Trials change nothing.
func (d *decision) settled(way direct.Way) uint64 {
	shares := way != direct.Replicate && d.word() == "share"
	if shares != d.shares && d.runs > 1 {
		d.changed = d.runs - 1
	}
	d.shares = shares
	return d.changed
}

// average weighs the newest of a series by a quarter.
func average(old, now time.Duration) time.Duration {
	if old == 0 {
		return now
	}
	return (3*old + now) / 4
}
