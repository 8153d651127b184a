package engine

import (
	"math/bits"
	"time"
)

// lossy lists when a trial of sharing ends early. Each entry rejects this way of sharing after
// samples shared sections, if each of them took more than percent of the time that this process
// needs alone. A single section may be slow because the machine is busy, so the limits are
// higher for fewer samples. Entries with explained apply only if the updates take long enough to
// explain the loss.
var lossy = []struct {
	samples   int
	percent   time.Duration
	explained bool
}{{1, 3000, false}, {1, 300, true}, {2, 150, true}, {3, 125, true}}

// attempt is the state of sharing in one way.
type attempt struct {
	quotients window        // times of shared sections divided by their times alone; a quotient of 1 is stored as 1 s
	typical   time.Duration // median of quotients when they were last judged; 0: not since the trial began
	rejected  bool          // this way does not pay
	pause     uint64        // sections from one trial to the next
	transfer  time.Duration // time of the updates on the link, 0 if unknown
	cost      time.Duration // cost of the updates according to other sections; 0 if there were none
	guess     time.Duration // estimate of cost from the number of bytes
	touch     time.Duration // time to touch the memory of the updates for the first time
}

// clear reports whether sharing is clearly worth a trial: the bodies take much longer than
// the updates, even after subtracting the time to touch memory for the first time.
func (a *attempt) clear(alone time.Duration) bool { return alone-a.touch > certain*a.updates() }

// updates returns the known or estimated time of the updates.
func (a *attempt) updates() time.Duration { return max(a.transfer, a.cost, a.guess) }

// forecast returns the expected least time of a section that is shared, and the time above which
// sharing is not worth a trial. A transfer can overlap with the half of the computation that
// remains. So it counts only if it takes almost as long as the section alone. The cost of sharing
// other sections is added. If that cost is only guessed, the limit is higher.
func (a *attempt) forecast(alone time.Duration) (shared, most time.Duration) {
	switch {
	case a.transfer >= alone-alone/hysteresis:
		return alone/2 + max(a.transfer, a.cost), alone
	case a.cost > 0:
		return alone/2 + a.cost, alone + alone/hysteresis
	}
	return alone/2 + a.guess, alone + alone/2
}

// trial reports whether this section tries sharing again, to see whether it pays now.
// Trials depend on the number of sections, not on time, so that all replicas try at
// once. A trial takes as many sections as a median needs.
func (a *attempt) trial(runs uint64, needed int) bool {
	if runs < a.pause || runs%a.pause >= uint64(needed) {
		return false
	}
	if runs%a.pause == 0 {
		a.renew()
	}
	return true
}

// renew begins a trial, which is judged only by its own sections.
func (a *attempt) renew() { a.quotients, a.typical = window{}, 0 }

// giveUp rejects this way of sharing, and sets when to try it again. The greater the loss,
// the later the trial.
func (a *attempt) giveUp(shared, alone time.Duration, needed int) {
	a.pause, a.rejected = pauseAfter(shared-alone, alone, needed), true
}

// pauseAfter returns the number of sections before the next trial, which takes needed
// sections. loss is the extra time of such a section compared to the other way. The number
// is a power of two, so that replicas with slightly different measurements still try
// together.
func pauseAfter(loss, alone time.Duration, needed int) uint64 {
	n := uint64(max(loss, 0)) * uint64(needed) * trialCost / uint64(max(alone, 1))
	return uint64(1) << min(max(bits.Len64(n), 5), 40)
}

// judge decides from the shared sections whether this way pays. Part of the cost of sending
// long updates comes after the section: processors still move them over the link, and the
// next sections take longer. So a section with long updates has to be shorter by a tenth,
// and is tried less often.
func (a *attempt) judge(alone time.Duration, needed int, sent bool) {
	n := a.quotients.n
	switch {
	case n < needed:
		a.judgeEarly(alone, needed)
		return
	case needed == many && n%many != 0: // a median for each section would take long
		return
	}
	a.typical = a.quotients.median(needed)
	most, loss := one+one/hysteresis, time.Duration(0)
	if sent && a.long(alone) {
		most, loss = one-one/hysteresis, one/2
	}
	switch q := a.typical; {
	case q < one-one/hysteresis:
		a.rejected = false
	case !a.explains(alone) && n < many:
	case n > needed && a.quotients.median(many) <= most: // the machine was busy for a few sections
	case q > most:
		a.giveUp(max(q, one+loss), one, needed)
	}
}

// explains reports whether the updates can be the reason why sharing takes long: their known
// or estimated time is more than an eighth of the time alone. long reports whether the time of
// their bytes alone is more than an eighth.
func (a *attempt) explains(alone time.Duration) bool { return a.updates() > alone/8 }

func (a *attempt) long(alone time.Duration) bool { return max(a.transfer, a.guess) > alone/8 }

// judgeEarly rejects this way before a trial is complete, if it is lossy. A trial of short
// sections ends early only if it costs much, or if all samples show that the bytes take too
// long.
func (a *attempt) judgeEarly(alone time.Duration, needed int) {
	n, least := a.quotients.n, a.quotients.least()
	if needed == many && (least-one).Seconds()*float64(alone) < float64(lasting) {
		if n == samples && a.long(alone) && least > one+one/4 {
			a.giveUp(least, one, needed)
		}
		return
	}
	for _, l := range lossy {
		if n == l.samples && least > one*l.percent/100 && (a.explains(alone) || !l.explained) {
			a.giveUp(a.quotients.median(samples), one, needed)
		}
	}
}
