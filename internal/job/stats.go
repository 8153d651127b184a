package job

import "fmt"

// Stats is what a process counts about its sections. Totals since its start.
type Stats struct {
	Sections      int64  `json:"sections"`       // sections left
	TasksRun      int64  `json:"tasks_run"`      // bodies run here
	TasksReceived int64  `json:"tasks_received"` // results taken from a peer
	TasksRerun    int64  `json:"tasks_rerun"`    // run here in place of a dead peer
	UpdateBytes   int64  `json:"update_bytes"`   // payload of updates sent
	UpdatesTorn   int64  `json:"updates_torn"`   // updates that broke off here
	UpdatesLost   int64  `json:"updates_lost"`   // updates that a connection took with it
	Signature     uint64 `json:"signature"`      // of all sections entered, in order
	// Before is what Sections lacks of the rank's: those before this process
	// joined, less those that were left again after a rollback.
	Before    int64                `json:"before,omitempty"`
	TaskTypes map[string]TaskStats `json:"task_types,omitempty"`
	Notes     []string             `json:"notes,omitempty"` // to the user, who hears each of them once
}

// Diverged says in what two replicas of a rank differ that have both finished,
// or returns "".
func (s *Stats) Diverged(o *Stats) string {
	switch {
	case s.Before+s.Sections != o.Before+o.Sections:
		return fmt.Sprintf("one left %d sections, the other %d", s.Before+s.Sections, o.Before+o.Sections)
	case s.Signature != o.Signature:
		return "their sections had different tasks, shapes or arguments"
	}
	return ""
}

// TaskStats is the part of Stats that concerns the tasks of one type.
type TaskStats struct {
	Run         int64   `json:"run"`
	Received    int64   `json:"received"`
	Seconds     float64 `json:"seconds"`      // spent in bodies
	WaitSeconds float64 `json:"wait_seconds"` // spent waiting for updates
	// SectionSeconds is the time in sections that were completed together with
	// other replicas and whose first task is of this type.
	SectionSeconds float64 `json:"section_seconds"`
	UpdateBytes    int64   `json:"update_bytes"` // payload of updates sent, or stored
	// Stored is how often the results of a task were stored straight into the
	// arrays of another replica.
	Stored   int64  `json:"stored,omitempty"`
	Decision string `json:"decision"` // share or replicate
}
