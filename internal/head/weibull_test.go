package head

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

func lossOf() decision.Loss { return decision.Loss{Testimonies: testimonies(3)} }

func verdictOf(c job.Cause) *decision.Verdict {
	return &decision.Verdict{Verdict: job.Verdict{Epoch: 1, Process: at(0, 1), Incarnation: 1, Cause: c}}
}

func take(w Weibull, n int) (all []injection) {
	for s := w.schedule(); len(all) < n; {
		all = append(all, s.next())
	}
	return all
}

// The same seed gives the same schedule; another seed gives another one.
func TestWeibullSeeds(t *testing.T) {
	w := Weibull{Shape: 0.7, MTBF: 20 * time.Second, Seed: 1}
	require.Equal(t, take(w, 1000), take(w, 1000))
	other := w
	other.Seed = 2
	require.NotEqual(t, take(w, 3), take(other, 3))
}

// The times between failures have the requested distribution: its mean, and its quantiles.
func TestWeibullDistribution(t *testing.T) {
	const n = 200_000
	for _, shape := range []float64{0.5, 0.7, 1, 2} {
		w := Weibull{Shape: shape, MTBF: 20 * time.Second, Seed: 7}
		all := take(w, n)
		require.InEpsilon(t, w.MTBF.Seconds(), all[n-1].at.Seconds()/n, 0.03, "mean with shape %v", shape)
		scale := w.MTBF.Seconds() / math.Gamma(1+1/shape)
		var gaps []float64
		var before time.Duration
		picks := 0.0
		for _, s := range all {
			require.GreaterOrEqual(t, s.at, before)
			require.True(t, s.pick >= 0 && s.pick < 1)
			gaps = append(gaps, (s.at - before).Seconds())
			before = s.at
			picks += s.pick
		}
		require.InDelta(t, 0.5, picks/n, 0.01)
		slices.Sort(gaps)
		for _, q := range []float64{0.1, 0.5, 0.9} {
			require.InEpsilon(t, scale*math.Pow(-math.Log(1-q), 1/shape), gaps[int(q*n)], 0.05, "quantile %v with shape %v", q, shape)
		}
	}
}

// The times of failures never overflow, even if the mean is the largest duration.
func TestWeibullTimesNeverOverflow(t *testing.T) {
	var before time.Duration
	for _, s := range take(Weibull{Shape: 0.1, MTBF: math.MaxInt64, Seed: 3}, 10_000) {
		require.GreaterOrEqual(t, s.at, before)
		before = s.at
	}
}

// A successor continues the schedule after the failures that were decided, and repeats the
// kill of the last victim.
func TestWeibullAfterASuccession(t *testing.T) {
	s := newScript(t)
	s.job([]string{"degrees=3,3", "hosts=3"})
	s.config.Weibull = &Weibull{Shape: 1, MTBF: time.Second, Seed: 5}
	s.head = New(s.config)
	s.proposed, s.agents = nil, make(agentLogs)
	s.step(Begin{})
	s.commands("running")
	all := take(*s.config.Weibull, 3)
	due := func() time.Duration {
		at, ok := s.head.Deadline()
		require.True(t, ok)
		return at
	}
	require.Equal(t, all[0].at, due())
	s.now = all[0].at
	s.step(Tick{})
	s.commands("unheard-commits", "succeed 4")
	require.Equal(t, all[1].at, due())
	victim := s.state.Injections[0].Process
	require.Contains(t, s.lines(), "detail: "+victim.String()+" is killed by -fault weibull")
	w := s.head.Summary().Weibull
	require.Equal(t, uint64(5), w.Seed)
	require.Len(t, w.Injections, 1)
	require.Equal(t, victim, w.Injections[0].Process)
}

// lines returns the actions of the head since the last command.
func (s *script) lines() []string { return s.out }
