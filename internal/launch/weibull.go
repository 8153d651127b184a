package launch

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/runreport"
)

// Weibull asks for failures at random: the times between two failures of the
// job have a Weibull distribution. With a shape below 1 they come in bursts,
// as those of clusters do; with 1 they do not know of each other.
type Weibull struct {
	Shape float64
	MTBF  time.Duration // mean time between two failures of the whole job
	Seed  uint64        // the same seed gives the same schedule
}

// Bounds of what makes sense, and of what can be computed.
const (
	leastShape, mostShape = 0.1, 100
	leastMTBF             = time.Millisecond
)

// ParseWeibull reads shape=S,mtbf=T.
func ParseWeibull(s string) (*Weibull, error) {
	const want = "want shape=S,mtbf=T like shape=0.7,mtbf=20s"
	w := new(Weibull)
	for part := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		var err error
		switch name {
		case "shape":
			w.Shape, err = strconv.ParseFloat(value, 64)
			if err != nil || !(w.Shape >= leastShape && w.Shape <= mostShape) {
				return nil, fmt.Errorf("shape %q: want a number from %v to %v, like 0.7", value, leastShape, mostShape)
			}
		case "mtbf":
			w.MTBF, err = time.ParseDuration(value)
			if err != nil || w.MTBF < leastMTBF {
				return nil, fmt.Errorf("mtbf %q: want a duration of at least %v, like 20s", value, leastMTBF)
			}
		default:
			return nil, fmt.Errorf("%q has neither a shape nor an mtbf: %s", part, want)
		}
	}
	if w.Shape == 0 || w.MTBF == 0 {
		return nil, errors.New(want)
	}
	return w, nil
}

// injection is one failure of a schedule.
type injection struct {
	at   time.Duration // since all have joined
	pick float64       // in [0,1): chooses among those that live then
}

// injections is an endless schedule.
type injections struct {
	Weibull
	random *rand.Rand
	at     time.Duration
}

func (w Weibull) schedule() *injections {
	return &injections{Weibull: w, random: rand.New(rand.NewPCG(w.Seed, 0))}
}

// next returns the next failure.
func (s *injections) next() injection {
	// Inverse transform; 1-U is never 0.
	scale := float64(s.MTBF) / math.Gamma(1+1/s.Shape)
	gap := scale * math.Pow(-math.Log(1-s.random.Float64()), 1/s.Shape)
	const never = time.Duration(math.MaxInt64 / 4)
	s.at = min(s.at+time.Duration(min(gap, float64(never))), never)
	return injection{at: s.at, pick: s.random.Float64()}
}

// inject begins to kill processes by the schedule.
func (h *head) inject() {
	if w := h.config.Weibull; w != nil {
		h.injected = &runreport.Injection{Shape: w.Shape, MTBF: w.MTBF.Seconds(), Seed: w.Seed, Strikes: []runreport.Strike{}}
		h.await(w.schedule())
	}
}

// await waits for the next failure.
func (h *head) await(s *injections) {
	next := s.next()
	h.after(time.Until(h.joined.Add(next.at)), func() {
		if h.phase != working {
			return
		}
		h.injectOne(next, s.Seed)
		h.await(s)
	})
}

// injectOne kills one of the processes that live.
func (h *head) injectOne(i injection, seed uint64) {
	var live []*member
	for _, m := range h.order {
		if m.hello != nil && !m.gone && !m.spare && m.ending == nil {
			live = append(live, m)
		}
	}
	if len(live) == 0 {
		return
	}
	m := live[int(i.pick*float64(len(live)))]
	h.injected.Strikes = append(h.injected.Strikes, runreport.Strike{Process: m.process, At: h.elapsed().Seconds()})
	m.ending = &ending{job.CauseInjected, fmt.Sprintf("killed by -weibull at %.3f s, number %d of seed %d", h.elapsed().Seconds(), len(h.injected.Strikes), seed)}
	h.eventf("%v is killed by -weibull", m.process)
	h.kill(m)
}
