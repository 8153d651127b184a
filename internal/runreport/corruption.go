package runreport

import "github.com/intrahpc/intra/internal/job"

// Corruption is what came of the comparison of tasks and states.
type Corruption struct {
	Compared  int64       `json:"compared"` // tasks and states
	Differed  int64       `json:"differed"`
	Repaired  int64       `json:"repaired"`
	Convicted []Convicted `json:"convicted"`
	// Latency is how long the first that was convicted had erred: since its first
	// wrong result on request, else since the one that was found.
	Latency float64 `json:"latency_seconds"`
}

// Convicted is a process that came to a wrong result, or state, and which was the first that
// was found.
type Convicted struct {
	Process     job.Process `json:"process"`
	Incarnation uint32      `json:"incarnation"`
	Core        int         `json:"core"` // the processor that it ran on; -1: not known
	Host        string      `json:"host"`
	Task        int         `json:"task"`
	Section     uint64      `json:"section"`
	Kernel      string      `json:"kernel"`
	Message     string      `json:"message,omitempty"` // that was wrong, in place of a task
	Point       uint64      `json:"point,omitempty"`   // safe point at which its state was wrong, in place of a task
	Latency     float64     `json:"latency_seconds"`
}

// Flip is a wrong result on request.
type Flip struct {
	Spec  string `json:"spec"`
	Fired bool   `json:"fired"`
}
