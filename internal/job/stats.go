package job

import (
	"cmp"
	"fmt"

	"github.com/intrahpc/intra/internal/base/counters"
)

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
	Links         int64  `json:"links"`          // made to other processes
	// Before is what Sections lacks of the rank's: those before this process
	// joined, less those that were left again after a rollback.
	Before int64 `json:"before,omitempty"`
	// Points are the safe points behind a process that has finished, of which
	// Place is the first call, and Restored the one at which it began with saved
	// state, 0 if it did not.
	Points    uint64               `json:"points,omitempty"`
	Restored  uint64               `json:"restored,omitempty"`
	Place     string               `json:"place,omitempty"`
	TaskTypes map[string]TaskStats `json:"task_types,omitempty"`
	Notes     []string             `json:"notes,omitempty"` // to the user, who hears each of them once
	// Corruption is nil unless tasks are verified. Flipped are the wrong results
	// on request that have come about.
	Corruption *Corruption `json:"corruption,omitempty"`
	Flipped    []Flip      `json:"flipped,omitempty"`
	// Watched is nil unless replicas look for divergence.
	Watched *Watched `json:"watched,omitempty"`
	// Counters says how what was to be counted in tasks is counted here.
	Counters []counters.Counter `json:"counters,omitempty"`
	// Usage is what the process has used up, nil if that is not known.
	Usage *counters.Usage `json:"usage,omitempty"`
	// Doing is what it does now: nil if it does not say. It comes with the counts that
	// are reported in the middle of the job.
	Doing *Doing `json:"doing,omitempty"`
}

// Diverged says in what two replicas of a rank differ that have both finished,
// or returns "".
func (s *Stats) Diverged(o *Stats) string {
	switch {
	case s.Points != o.Points:
		return s.points(o)
	case s.Before+s.Sections != o.Before+o.Sections:
		return fmt.Sprintf("one left %d sections, the other %d", s.Before+s.Sections, o.Before+o.Sections) + s.afterRestore(o)
	case s.Signature != o.Signature:
		return "their sections had different tasks, shapes or arguments" + s.afterRestore(o)
	}
	if at, differs := s.Watched.differs(o.Watched); differs {
		return at.differs() + s.afterRestore(o)
	}
	return ""
}

// Apart says in what two processes of different ranks differ that have both
// finished, one of which began with saved state, or returns "".
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

// ForgottenState is what most often makes a process that is restored do
// something else than the others.
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
	// time that those sections would have taken the processes alone: all tasks as long as those that
	// ran there took on average
	AloneSeconds float64                   `json:"alone_seconds"`
	UpdateBytes  int64                     `json:"update_bytes"`       // payload of updates sent, or stored
	Stored       int64                     `json:"stored,omitempty"`   // how often results were stored straight into the arrays of another replica
	ReadBytes    int64                     `json:"read_bytes"`         // size of the in and inout regions of the bodies run
	WrittenBytes int64                     `json:"written_bytes"`      // size of their out, inout and reduce regions
	Counters     map[string]counters.Count `json:"counters,omitempty"` // what was counted meanwhile, by its name
	Decision     string                    `json:"decision"`           // share or replicate: share if any process shares it
	// after how many sections of one kind sharing has begun or ended last, trials aside; the most of
	// all processes and kinds, 0 if it never changed
	DecidedAfter int64 `json:"decided_after"`
}
