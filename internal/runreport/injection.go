package runreport

import "github.com/intrahpc/intra/internal/job"

// Injection is what came of a schedule, for the report.
type Injection struct {
	Shape   float64  `json:"shape"`
	MTBF    float64  `json:"mtbf_seconds"`
	Seed    uint64   `json:"seed"`
	Strikes []Strike `json:"strikes"`
}

// Strike is one process that was killed by it.
type Strike struct {
	Process job.Process `json:"process"`
	At      float64     `json:"at_seconds"`
}
