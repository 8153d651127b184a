package runreport

import (
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// Failure is a verdict.
type Failure struct {
	Process job.Process `json:"process"`
	At      float64     `json:"at_seconds"` // when it was declared dead
	Cause   job.Cause   `json:"cause"`
	Detail  string      `json:"detail"`
	Fenced  float64     `json:"fenced_seconds,omitempty"` // when it was killed for what it did
	// Handled is when the head heard of each survivor that it has done what the
	// death asks of it. A process that has died or ended before, or that is
	// stopped, is not in it; one that came later need not do anything.
	Handled map[job.Process]float64 `json:"handled_seconds"`

	Evidence *Evidence `json:"evidence,omitempty"` // of the loss of a host

	Epoch uint64 `json:"-"` // of the verdict
}

// NewFailure returns a verdict of that time since all had joined.
func NewFailure(v job.Verdict, at time.Duration) Failure {
	return Failure{Process: v.Process, At: at.Seconds(), Cause: v.Cause, Detail: v.Detail,
		Handled: make(map[job.Process]float64), Epoch: v.Epoch}
}

// HandledBy notes that a process has handled the verdict at that time since all
// had joined, and reports whether that was unknown and can be. A head that has taken over may
// have heard of the verdict itself only after that.
func (f *Failure) HandledBy(p job.Process, at time.Duration) bool {
	if _, known := f.Handled[p]; known || p == f.Process {
		return false
	}
	f.Handled[p] = max(at.Seconds(), f.At)
	return true
}

// Evidence is what the verdict on a host rests on. Times are in seconds since
// all had joined.
type Evidence struct {
	LastHeard   float64       `json:"last_heard_seconds"`
	LastHeardBy string        `json:"last_heard_by"`
	Suspected   float64       `json:"suspected_seconds"`
	Declared    float64       `json:"declared_seconds"`
	Observers   []Observation `json:"observers"`            // as of the verdict, the head first
	Connection  string        `json:"connection,omitempty"` // why the one to its agent had ended
}

// Observation is what one observer has seen of a host.
type Observation struct {
	Observer string  `json:"observer"`
	Silent   float64 `json:"silent_seconds"` // since its last round trip
	Limit    float64 `json:"limit_seconds"`  // how much is too much for it
}
