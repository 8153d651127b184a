package launch

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseWeibull(t *testing.T) {
	w, err := ParseWeibull("shape=0.7,mtbf=20s")
	require.NoError(t, err)
	require.Equal(t, &Weibull{Shape: 0.7, MTBF: 20 * time.Second}, w)
	w, err = ParseWeibull("mtbf=1h30m, shape=2")
	require.NoError(t, err)
	require.Equal(t, &Weibull{Shape: 2, MTBF: 90 * time.Minute}, w)
	for s, want := range map[string]string{
		"":                    "want shape=S,mtbf=T like shape=0.7,mtbf=20s",
		"shape=0.7":           "want shape=S,mtbf=T",
		"mtbf=20s":            "want shape=S,mtbf=T",
		"20s":                 `"20s" has neither a shape nor an mtbf`,
		"shape=0.7,scale=3":   `"scale=3"`,
		"shape=0,mtbf=1s":     `shape "0": want a number from 0.1 to 100`,
		"shape=-1,mtbf=1s":    `shape "-1"`,
		"shape=NaN,mtbf=1s":   `shape "NaN"`,
		"shape=1e9,mtbf=1s":   `shape "1e9"`,
		"shape=,mtbf=1s":      `shape ""`,
		"shape=0.7,mtbf=20":   `mtbf "20": want a duration of at least 1ms, like 20s`,
		"shape=0.7,mtbf=0s":   `mtbf "0s"`,
		"shape=0.7,mtbf=-20s": `mtbf "-20s"`,
		"shape=0.7,mtbf=1ns":  `mtbf "1ns"`,
	} {
		_, err := ParseWeibull(s)
		require.ErrorContains(t, err, want, "%q", s)
	}
}

func take(w Weibull, n int) (all []injection) {
	for s := w.schedule(); len(all) < n; {
		all = append(all, s.next())
	}
	return all
}

// The same seed gives the same schedule, another seed another one.
func TestWeibullSeeds(t *testing.T) {
	w := Weibull{Shape: 0.7, MTBF: 20 * time.Second, Seed: 1}
	require.Equal(t, take(w, 1000), take(w, 1000))
	other := w
	other.Seed = 2
	require.NotEqual(t, take(w, 3), take(other, 3))
}

// The times between failures have the distribution that was asked for: its
// mean, and its quantiles.
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

// A time too far away to be counted stays in the future.
func TestWeibullFarAway(t *testing.T) {
	var before time.Duration
	for _, s := range take(Weibull{Shape: leastShape, MTBF: math.MaxInt64, Seed: 3}, 10_000) {
		require.GreaterOrEqual(t, s.at, before)
		before = s.at
	}
}
