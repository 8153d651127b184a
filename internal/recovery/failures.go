package recovery

import (
	"math"
	"time"
)

// Failures estimates how often processes of a job fail, from the times between their
// failures. It assumes that these times have a Weibull distribution with the shape that
// was measured on clusters. With this shape another failure is likely soon after a
// failure, and less likely as time passes. The zero value belongs to a job that begins at
// time 0.
//
// A time raised to the power of the shape has an exponential distribution. Its rate is the
// number of failures divided by the sum of such powers. Old failures lose weight in both.
type Failures struct {
	Count float64       `json:"count,omitempty"` // weighted number of failures
	Sum   float64       `json:"sum,omitempty"`   // weighted sum of the times before them, in seconds, raised to the power of the shape
	Last  time.Duration `json:"last,omitempty"`  // time of the last failure
}

const (
	// shape is the Weibull shape of the failures of large clusters (Schroeder and Gibson, 2006).
	shape = 0.7
	// fading is the weight of a failure relative to the next one. About the last eight
	// failures count.
	fading = 7.0 / 8
	// priorCount is the number of failures assumed before the first one. With half a
	// failure, the backups up to the first failure cost about as much time as that
	// failure loses, whenever it happens.
	priorCount = 0.5
	// priorSum bounds the rate in the first second.
	priorSum = 1
)

// failed records a failure. Failures at the same time count once, since the processes of
// a host fail together.
func (f *Failures) failed(now time.Duration) {
	if f.Count > 0 && now <= f.Last {
		return
	}
	f.Count = fading*f.Count + 1
	f.Sum = fading*f.Sum + math.Pow((now-f.Last).Seconds(), shape)
	f.Last = now
}

// scale returns the rate of the exponential distribution. The time since the last failure
// counts too, so the rate falls while no process fails.
func (f *Failures) scale(now time.Duration) float64 {
	return (priorCount + f.Count) / (priorSum + f.Sum + math.Pow((now-f.Last).Seconds(), shape))
}

// rate returns the expected failures per second, on average over the time ahead from now
// on.
func (f *Failures) rate(now, ahead time.Duration) float64 {
	from, to := (now - f.Last).Seconds(), (now + ahead - f.Last).Seconds()
	return f.scale(now) * (math.Pow(to, shape) - math.Pow(from, shape)) / (to - from)
}

// between returns the mean time between two failures.
func (f *Failures) between(now time.Duration) time.Duration {
	return time.Duration(math.Pow(f.scale(now), -1/shape) * math.Gamma(1+1/shape) * float64(time.Second))
}
