// Package spread summarises a series of measurements.
package spread

import "slices"

// Spread is a median with its quartiles and extremes.
type Spread struct {
	Median float64 `json:"median"`
	Q1     float64 `json:"q1"`
	Q3     float64 `json:"q3"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Of summarises values. Without values it returns zeros.
func Of(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	v := slices.Sorted(slices.Values(values))
	return Spread{Median: quantile(v, 0.5), Q1: quantile(v, 0.25), Q3: quantile(v, 0.75), Min: v[0], Max: v[len(v)-1]}
}

// quantile interpolates between the two values around position q of a sorted list.
func quantile(v []float64, q float64) float64 {
	at := q * float64(len(v)-1)
	i := int(at)
	if i+1 == len(v) {
		return v[i]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}

// Loose reports whether the quartiles are so far apart that the median is not meaningful.
func (s Spread) Loose() bool { return s.Q3-s.Q1 > 0.15*s.Median }
