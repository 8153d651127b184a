package head

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// injection is one failure of a schedule.
type injection struct {
	at   time.Duration // since all have joined
	pick float64       // in [0,1): chooses among the processes that live then
}

// schedule is an endless sequence of failures. It depends only on its seed: a successor
// skips as many failures as have been decided.
type schedule struct {
	Weibull
	random *rand.Rand
	at     time.Duration
	due    injection
}

func (w Weibull) schedule() *schedule {
	return &schedule{Weibull: w, random: rand.New(rand.NewPCG(w.Seed, 0))}
}

// next returns the next failure.
func (s *schedule) next() injection {
	// Inverse transform; 1-U is never 0.
	scale := float64(s.MTBF) / math.Gamma(1+1/s.Shape)
	gap := scale * math.Pow(-math.Log(1-s.random.Float64()), 1/s.Shape)
	const never = time.Duration(math.MaxInt64 / 4)
	s.at = min(s.at+time.Duration(min(gap, float64(never))), never)
	return injection{at: s.at, pick: s.random.Float64()}
}

// armWeibull begins or continues to kill processes by the schedule.
func (h *Head) armWeibull() {
	if h.config.Weibull == nil {
		return
	}
	h.schedule = h.config.Weibull.schedule()
	for range h.state.Injections {
		h.schedule.next()
	}
	h.awaitInjection()
}

// awaitInjection waits for the next failure.
func (h *Head) awaitInjection() {
	h.schedule.due = h.schedule.next()
	h.after(h.schedule.due.at-h.elapsed(), timer{kind: scheduledInjection})
}

// inject chooses a live process as the victim, if there is one.
func (h *Head) inject() {
	if h.phase != working {
		return
	}
	var live []*member
	for _, m := range h.all {
		if m.role != Spare && m.ending == nil && m.state >= joined && m.state <= finished {
			live = append(live, m)
		}
	}
	e := decision.Entry{Kind: decision.Injected}
	if len(live) > 0 {
		m := live[int(h.schedule.due.pick*float64(len(live)))]
		e.Process, e.Incarnation = m.process, m.incarnation
	}
	h.propose(e)
}

// injected acts on the kept decision about the victim.
func (h *Head) injected(e decision.Entry) {
	if h.phase == working {
		h.awaitInjection()
	}
	if e.Incarnation > 0 {
		h.hit(len(h.state.Injections) - 1)
	}
}

// hit kills the victim of a failure, if it lives.
func (h *Head) hit(i int) {
	s := h.state.Injections[i]
	m := h.holder(s.Process, s.Incarnation)
	if m == nil || !m.state.there() || m.ending != nil {
		return
	}
	number := 0 // of the failures that had a victim
	for _, o := range h.state.Injections[:i+1] {
		if o.Incarnation > 0 {
			number++
		}
	}
	m.ending = &ending{job.CauseInjected, fmt.Sprintf("killed by -fault weibull at %.3f s, number %d of seed %d", s.At.Seconds(), number, h.config.Weibull.Seed)}
	h.detailf("%v is killed by -fault weibull", m.process)
	h.kill(m)
}
