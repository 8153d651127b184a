package runreport

import "github.com/intrahpc/intra/internal/job"

// Corruption holds the findings of the comparison of tasks, messages and states. See
// docs/corruption.md.
type Corruption struct {
	Compared int64 `json:"compared"` // compared tasks, and safe points at which the states of a rank were compared
	Differed int64 `json:"differed"` // comparisons whose results were not all equal
	// differences for which the right result or state was found, or after which the job rolled
	// back to a backup
	Repaired int64    `json:"repaired"`
	Blamed   []Blamed `json:"convicted"`       // processes that computed wrong results or states
	Latency  float64  `json:"latency_seconds"` // time from the first fault to the detection of the first process
}

// Blamed is a process that computed wrong results or had a wrong state. It describes the
// first one found.
type Blamed struct {
	Process     job.Process `json:"process"`     // the process
	Incarnation uint32      `json:"incarnation"` // above 1 if it replaced a dead process
	// the system's number of the processor on which the task ran, or on which the process ran when
	// its state was compared; -1 if unknown
	Core    int    `json:"core"`
	Host    string `json:"host"`              // the host on which it ran
	Task    int    `json:"task"`              // number of the task in the section; -1 if a message or a state was wrong
	Section uint64 `json:"section"`           // number of the section; the next one if a state was wrong
	Kernel  string `json:"kernel"`            // name of the task
	Message string `json:"message,omitempty"` // the wrong message that it sent, in place of a result
	Point   uint64 `json:"point,omitempty"`   // safe point at which its state was wrong, in place of a result
	// time from its first wrong result to the detection, if -fault flip or -fault defect
	// caused it; else from the result that was found
	Latency float64 `json:"latency_seconds"`
}

// Flip is a requested fault of -fault flip or -fault defect.
type Flip struct {
	Spec  string `json:"spec"`  // the value given to -fault, without its kind
	Fired bool   `json:"fired"` // whether it happened
}
