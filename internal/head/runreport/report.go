package runreport

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/base/counters"
	"github.com/intrahpc/intra/internal/base/wholefile"
	"github.com/intrahpc/intra/internal/job"
)

// Version is the version of the report's format. It changes when a field changes its meaning
// or is removed; new fields may be added.
const Version = 1

// Report is the report that -report writes. docs/report.md is generated from the comments of
// its fields.
type Report struct {
	// version of this format. It changes when a field changes its meaning or is removed; new
	// fields may be added
	Version     int         `json:"version"`
	ExitCode    int         `json:"exit_code"`             // exit code of intrarun
	Error       string      `json:"error"`                 // why the job ended, empty if every rank finished
	Ranks       int         `json:"ranks"`                 // number of ranks
	Degrees     []int       `json:"degrees"`               // replicas of each rank at the start
	Most        []int       `json:"max_degrees,omitempty"` // the most replicas that each rank may have, if they differ from degrees (-r MIN..MAX)
	Link        string      `json:"link"`                  // kind of link within a host: shm, unix or tcp; mpi with -link mpi
	MPI         *MPI        `json:"mpi,omitempty"`         // the MPI library, with -mpi
	Limit       float64     `json:"limit,omitempty"`       // bandwidth of a link in bytes per second, from -limit
	Threads     int         `json:"threads"`               // workers of each process
	Direct      []int       `json:"direct,omitempty"`      // ranks whose replicas can store into each other's arrays, because they began on one host
	WallSeconds float64     `json:"wall_seconds"`          // time from when all processes had joined to the end
	IntraTag    bool        `json:"intra_tag"`             // whether the program was built with the tag intra, so that sections are shared
	Joined      time.Time   `json:"joined,omitzero"`       // when all processes had joined, by the clock of the head's host
	Failures    []Failure   `json:"failures"`              // the verdicts, in order
	Kills       []Kill      `json:"kills"`                 // kills of -kill
	SDC         *Corruption `json:"sdc,omitempty"`         // findings of -sdc
	Diverge     *Diverge    `json:"diverge,omitempty"`     // findings of the comparison of states (-diverge)
	Flips       []Flip      `json:"flips,omitempty"`       // faults of -fault flip and -fault defect
	Counters    []Counter   `json:"counters,omitempty"`    // how the events of -counters were counted
	Weibull     *Weibull    `json:"weibull,omitempty"`     // the schedule and the kills of -fault weibull
	Checkpoint  *Checkpoint `json:"checkpoint,omitempty"`  // files that were written
	Restart     *Restart    `json:"restart,omitempty"`     // files that the job began with
	Recovery
	Counts              // sums over all processes
	Processes []Process `json:"processes"` // each process and its end

	TaskTypes map[string]TaskType `json:"task_types"` // sums for each type of task, by its name
}

// Kill is a kill that -kill requested.
type Kill struct {
	Process job.Process `json:"process"` // the process to be killed
	When    string      `json:"when"`    // the kill point, as the user gave it
	Fired   bool        `json:"fired"`   // whether the point was reached
}

// End is the way in which a process ended. It is an alias because the head records plain
// strings.
type End = string

// The ends of a process.
const (
	EndFinished  End = "finished"  // its program returned nil, and the job ended
	EndFailed    End = "failed"    // its program returned an error, panicked, or detected an error
	EndExited    End = "exited"    // it ended by itself in another way
	EndKilled    End = "killed"    // killed by -kill, by -fault weibull, or by a signal from outside of intrarun
	EndFenced    End = "fenced"    // killed by intrarun, because it was stopped or cut off
	EndLost      End = "lost"      // lost with its host
	EndMoved     End = "moved"     // moved because it was to leave: another process took over its state and its slot at a safe point
	EndDropped   End = "dropped"   // let go at a safe point, because its rank was to have fewer replicas
	EndDismissed End = "dismissed" // a replacement that the job no longer needed
	EndEnded     End = "ended"     // ended with the job, whose end had been decided or which was interrupted
	EndLeft      End = "left"      // unknown: the head that wrote the report retired while the process lived, or before its death was decided
)

// Process describes one process and its end.
type Process struct {
	Process     job.Process `json:"process"`         // its slot
	Incarnation uint32      `json:"incarnation"`     // above 1 if it replaced a dead process
	Host        string      `json:"host"`            // where it ran
	PID         int         `json:"pid"`             // its process number on that host
	End         End         `json:"end"`             // how it ended
	Status      string      `json:"status"`          // status of the operating system's process
	Clone       string      `json:"clone,omitempty"` // the tool that started it, from -clone; pid and status are the tool's
	Counts
	SecondRuns []job.SecondRun `json:"second_runs"`     // runs from a safe point that it has repeated alone
	Images     int64           `json:"images"`          // settled points at which it has made an image of its state (-lag)
	Usage      *counters.Usage `json:"usage,omitempty"` // resources that it had used at its last report
}

// Add adds one process with its stats.
func (r *Report) Add(p Process, s job.Stats) {
	p.add(s)
	r.add(s)
	p.Usage, p.Images, p.SecondRuns = s.Usage, s.Images, append([]job.SecondRun{}, s.SecondRuns...)
	r.count(p.Process, s.Counters)
	r.Processes = append(r.Processes, p)
	for name, t := range s.TaskTypes {
		all := r.TaskTypes[name]
		all.add(t, r.Slots()[p.Process.Rank])
		r.TaskTypes[name] = all
	}
}

// Slots returns the number of slots of each rank: the most replicas that it may have.
func (r *Report) Slots() []int {
	if r.Most != nil {
		return r.Most
	}
	return r.Degrees
}

// Write writes the report to a file, as indented JSON.
func (r *Report) Write(to *wholefile.File) error {
	r.Version = Version
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	if err := to.WriteBytes(append(b, '\n')); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// Line returns the report as JSON on one line.
func (r *Report) Line() ([]byte, error) {
	r.Version = Version
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the report: %w", err)
	}
	return b, nil
}
