package job

import (
	"cmp"
	"fmt"

	"github.com/intrahpc/intra/internal/base/counters"
)

// Stats holds the counts of a process, as totals since its start.
type Stats struct {
	Sections      int64  `json:"sections"`       // number of sections that it has left
	TasksRun      int64  `json:"tasks_run"`      // number of task bodies that it has run
	TasksReceived int64  `json:"tasks_received"` // number of results that it has received from a peer
	TasksRerun    int64  `json:"tasks_rerun"`    // number of tasks that it has run in place of a dead peer
	UpdateBytes   int64  `json:"update_bytes"`   // payload of updates sent
	UpdatesTorn   int64  `json:"updates_torn"`   // number of updates that were only partially received
	UpdatesLost   int64  `json:"updates_lost"`   // number of updates that were lost with a connection
	Signature     uint64 `json:"signature"`      // signature of all sections entered, in order
	Links         int64  `json:"links"`          // number of links to other processes that were made
	// Before is the number of the rank's sections from before this process joined, which
	// Sections does not count. Sections that were run again after a rollback are
	// subtracted.
	Before int64 `json:"before,omitempty"`
	// Points is the number of safe points that a finished process has passed. Place is
	// file:line of its first call of SafePoint. Restored is the safe point at which it
	// began with saved state, or 0.
	Points    uint64               `json:"points,omitempty"`
	Restored  uint64               `json:"restored,omitempty"`
	Place     string               `json:"place,omitempty"`
	TaskTypes map[string]TaskStats `json:"task_types,omitempty"`
	Notes     []string             `json:"notes,omitempty"`   // notes to the user; the head prints each one once
	Details   []string             `json:"details,omitempty"` // like Notes, for a verbose report
	// Corruption is nil unless tasks are verified. Flipped lists the requested bit flips
	// that have happened.
	Corruption *Corruption `json:"corruption,omitempty"`
	Flipped    []Flip      `json:"flipped,omitempty"`
	// Watched is nil unless replicas are compared for divergence.
	Watched *Watched `json:"watched,omitempty"`
	// Counters describes how this process measures the requested counters of tasks.
	Counters []counters.Counter `json:"counters,omitempty"`
	// SecondRuns are the runs of the program that this process began again alone, and that
	// have got to where the process had been.
	SecondRuns []SecondRun `json:"second_runs,omitempty"`
	// Images is the number of settled points of a process that keeps results.
	Images int64 `json:"images,omitempty"`
	// Usage is the use of resources by the process, or nil if unknown.
	Usage *counters.Usage `json:"usage,omitempty"`
	// Doing is the current activity of the process, or nil if it does not report that. Only
	// reports before the end of the process have it.
	Doing *Doing `json:"doing,omitempty"`
}

// Diverged describes how two finished replicas of a rank differ, or returns "".
func (s *Stats) Diverged(o *Stats) string {
	switch {
	case s.Points != o.Points:
		return s.points(o)
	case s.Before+s.Sections != o.Before+o.Sections:
		return fmt.Sprintf("one left %d sections, the other %d", s.Before+s.Sections, o.Before+o.Sections) + s.afterRestore(o)
	case s.Signature != o.Signature:
		return "their sections had different tasks, shapes or arguments" + s.afterRestore(o)
	}
	if how := s.Watched.differs(o.Watched); how != "" {
		return how + s.afterRestore(o)
	}
	return ""
}

// Apart describes how two finished processes of different ranks differ, or returns "". It
// compares them only if one of them began with saved state.
func (s *Stats) Apart(o *Stats) string {
	if s.Points == o.Points || s.Restored == 0 && o.Restored == 0 {
		return ""
	}
	return s.points(o)
}

func (s *Stats) points(o *Stats) string {
	at := ""
	if place := cmp.Or(s.Place, o.Place); place != "" {
		at = " (SafePoint is called at " + place + ")"
	}
	return fmt.Sprintf("the first came to %d safe points and %d sections, the second to %d and %d%s",
		s.Points, s.Before+s.Sections, o.Points, o.Before+o.Sections, at) + s.afterRestore(o)
}

// ForgottenState names the most frequent reason why a restored process diverges.
const ForgottenState = "is a variable of the loop missing in //intra:state, or in intra.Protect?"

func (s *Stats) afterRestore(o *Stats) string {
	switch {
	case s.Restored > 0:
		return fmt.Sprintf("; the first was restored at safe point %d: %s", s.Restored, ForgottenState)
	case o.Restored > 0:
		return fmt.Sprintf("; the second was restored at safe point %d: %s", o.Restored, ForgottenState)
	}
	return ""
}

// TaskStats is the part of Stats that concerns the tasks of one type. docs/report.md shows
// the comments of its fields.
type TaskStats struct {
	Run         int64   `json:"run"`          // bodies run
	Received    int64   `json:"received"`     // results taken from a peer
	Seconds     float64 `json:"seconds"`      // time spent in bodies
	WaitSeconds float64 `json:"wait_seconds"` // time spent waiting for updates
	// time in sections that were completed together with other replicas and whose first task is of
	// this type
	SectionSeconds float64 `json:"section_seconds"`
	// time that those sections would have taken the processes alone, if all tasks took as long as
	// the average task that the process ran in them
	AloneSeconds float64                   `json:"alone_seconds"`
	UpdateBytes  int64                     `json:"update_bytes"`       // payload of updates sent, or stored
	Stored       int64                     `json:"stored,omitempty"`   // number of times that results were stored straight into the arrays of another replica
	ReadBytes    int64                     `json:"read_bytes"`         // size of the in and inout regions of the bodies run
	WrittenBytes int64                     `json:"written_bytes"`      // size of their out, inout and reduce regions
	Counters     map[string]counters.Count `json:"counters,omitempty"` // counts of the events of -counters during these tasks, by the name of the event
	Decision     string                    `json:"decision"`           // share, replicate or keep: share if any process shares it
	// number of sections of one kind after which the decision last changed, without trials; the
	// maximum over all processes and kinds, 0 if it never changed
	DecidedAfter int64 `json:"decided_after"`
}
