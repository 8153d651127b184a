package runreport

import "github.com/intrahpc/intra/internal/job"

// Weibull is the schedule of random kills of -fault weibull.
type Weibull struct {
	Shape      float64     `json:"shape"`        // shape of the distribution
	MTBF       float64     `json:"mtbf_seconds"` // mean time between two failures of the job
	Seed       uint64      `json:"seed"`         // seed of the schedule; the same seed gives the same schedule
	Injections []Injection `json:"strikes"`      // the kills
}

// Injection is one kill of the schedule.
type Injection struct {
	Process job.Process `json:"process"`    // the process that was killed
	At      float64     `json:"at_seconds"` // when it was killed
}
