package runreport

import (
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// Failure is the verdict on one process.
type Failure struct {
	Process job.Process `json:"process"`                  // the process that died
	At      float64     `json:"at_seconds"`               // when it was declared dead
	Cause   job.Cause   `json:"cause"`                    // why it was declared dead
	Detail  string      `json:"detail"`                   // the cause in words
	Fenced  float64     `json:"fenced_seconds,omitempty"` // when intrarun fenced it, that is, killed it before it was declared dead
	// for each survivor, when it reported to the head that it had handled the death. A process
	// has no entry if it had died or ended before, is stopped, or joined later
	Handled  map[job.Process]float64 `json:"handled_seconds"`
	Evidence *Evidence               `json:"evidence,omitempty"` // evidence for the loss of its host

	Epoch uint64 `json:"-"` // epoch of the verdict
}

// NewFailure returns the entry for a verdict. at is the time of the verdict since all
// processes had joined.
func NewFailure(v job.Verdict, at time.Duration) Failure {
	return Failure{Process: v.Process, At: at.Seconds(), Cause: v.Cause, Detail: v.Detail,
		Handled: make(map[job.Process]float64), Epoch: v.Epoch}
}

// HandledBy records that a process has handled the verdict. at is that time, since all
// processes had joined. It returns false if that is already recorded, or if the verdict is on
// the process itself. A successor may receive the verdict after the process has handled it;
// then the time of the verdict counts.
func (f *Failure) HandledBy(p job.Process, at time.Duration) bool {
	if _, known := f.Handled[p]; known || p == f.Process {
		return false
	}
	f.Handled[p] = max(at.Seconds(), f.At)
	return true
}

// Evidence is the set of observations for which a host was declared lost.
type Evidence struct {
	LastSeen   float64       `json:"last_heard_seconds"`   // when the last message from the host was received
	LastSeenBy string        `json:"last_heard_by"`        // the observer that received it
	Suspected  float64       `json:"suspected_seconds"`    // when the host was first suspected
	Declared   float64       `json:"declared_seconds"`     // when it was declared lost
	Observers  []Observation `json:"observers"`            // the report of each observer at that time, the head first
	Connection string        `json:"connection,omitempty"` // why the connection to its agent had ended
}

// Observation is one observer's report on the lost host.
type Observation struct {
	Observer string  `json:"observer"`       // the host of the observer
	Silent   float64 `json:"silent_seconds"` // time since its last round trip with the lost host
	Limit    float64 `json:"limit_seconds"`  // the longest silence that it accepts
}
