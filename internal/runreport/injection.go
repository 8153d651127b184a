package runreport

import "github.com/intrahpc/intra/internal/job"

// Weibull is what came of a schedule, for the report.
type Weibull struct {
	Shape      float64     `json:"shape"`
	MTBF       float64     `json:"mtbf_seconds"`
	Seed       uint64      `json:"seed"`
	Injections []Injection `json:"strikes"`
}

// Injection is one process that was killed by it.
type Injection struct {
	Process job.Process `json:"process"`
	At      float64     `json:"at_seconds"`
}
