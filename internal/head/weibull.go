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
	at   time.Duration // time since all processes had joined
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

// armWeibull begins or continues the kills of the schedule.
func (fs *faults) armWeibull() {
	if fs.config.Weibull == nil {
		return
	}
	fs.schedule = fs.config.Weibull.schedule()
	for range fs.state.Injections {
		fs.schedule.next()
	}
	fs.awaitInjection()
}

// awaitInjection waits for the next failure.
func (fs *faults) awaitInjection() {
	fs.schedule.due = fs.schedule.next()
	fs.after(fs.schedule.due.at-fs.elapsed(), timer{kind: scheduledInjection})
}

// inject chooses a live process as the victim, if there is one.
func (fs *faults) inject() {
	if fs.phase != working {
		return
	}
	var live []*member
	for _, m := range fs.members.all {
		if m.role != Spare && m.ending == nil && m.state >= joined && m.state <= finished {
			live = append(live, m)
		}
	}
	e := decision.Entry{Kind: decision.Injected}
	if len(live) > 0 {
		m := live[int(fs.schedule.due.pick*float64(len(live)))]
		e.Process, e.Incarnation = m.process, m.incarnation
	}
	fs.propose(e)
}

// injected acts on the kept decision about the victim.
func (fs *faults) injected(e decision.Entry) {
	if fs.phase == working {
		fs.awaitInjection()
	}
	if e.Incarnation > 0 {
		fs.hit(len(fs.state.Injections) - 1)
	}
}

// hit kills the victim of a failure, if it lives.
func (fs *faults) hit(i int) {
	s := fs.state.Injections[i]
	m := fs.members.holder(s.Process, s.Incarnation)
	if m == nil || !m.state.there() || m.ending != nil {
		return
	}
	number := 0 // counts the failures that had a victim
	for _, o := range fs.state.Injections[:i+1] {
		if o.Incarnation > 0 {
			number++
		}
	}
	m.ending = &ending{job.CauseInjected, fmt.Sprintf("killed by -fault weibull at %.3f s, number %d of seed %d", s.At.Seconds(), number, fs.config.Weibull.Seed)}
	fs.detailf("%v is killed by -fault weibull", m.process)
	fs.kill(m)
}
