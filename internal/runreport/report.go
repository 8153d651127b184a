package runreport

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/counters"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/vary"
	"github.com/intrahpc/intra/internal/wholefile"
)

// Version is that of the form of a report. It changes when a field changes its
// meaning or goes; new fields may come.
const Version = 1

// Report is what -report writes. Times are in seconds since all processes had
// joined.
type Report struct {
	Version     int          `json:"version"` // Version
	ExitCode    int          `json:"exit_code"`
	Error       string       `json:"error"`
	Ranks       int          `json:"ranks"`
	Degrees     []int        `json:"degrees"`
	Link        string       `json:"link"`
	MPI         *MPI         `json:"mpi,omitempty"`    // of -mpi
	Limit       float64      `json:"limit,omitempty"`  // of a link, in bytes per second
	Threads     int          `json:"threads"`          // workers of each process
	Direct      []int        `json:"direct,omitempty"` // ranks whose replicas store into each other's arrays
	WallSeconds float64      `json:"wall_seconds"`
	IntraTag    bool         `json:"intra_tag"`
	Joined      time.Time    `json:"joined,omitzero"` // by the clock of the head's host
	Failures    []Failure    `json:"failures"`
	Kills       []Kill       `json:"kills"`
	SDC         *Corruption  `json:"sdc,omitempty"`      // of -sdc
	Flips       []Flip       `json:"flips,omitempty"`    // of -flip and -defect
	Counters    []Counter    `json:"counters,omitempty"` // of -counters
	Vary        *vary.Result `json:"vary,omitempty"`     // of -vary
	Weibull     *Weibull     `json:"weibull,omitempty"`
	Checkpoint  *Checkpoint  `json:"checkpoint,omitempty"`
	Restart     *Restart     `json:"restart,omitempty"`
	Recovery                 // of recovery
	Counts                   // sums over all processes
	Processes   []Process    `json:"processes"`

	TaskTypes map[string]TaskType `json:"task_types"`
}

// Kill is a death on request.
type Kill struct {
	Process job.Process `json:"process"`
	When    string      `json:"when"`
	Fired   bool        `json:"fired"`
}

// Process describes the end of one process as one of
//
//	finished  run returned nil, and the job came to its end
//	failed    run returned an error, panicked, or found something wrong
//	exited    it ended by itself in another way
//	killed    by -kill or by a signal that was not intrarun's
//	fenced    killed by intrarun, because it was stopped or cut off
//	lost      with its host
//	dismissed it was to take the place of a dead one, and was not needed any more
//	ended     with the job, which had been decided or interrupted
//	left      by a head that gave up, maybe to another one: it lived, or its
//	          death was not decided yet
type Process struct {
	Process     job.Process `json:"process"`
	Incarnation uint32      `json:"incarnation"` // above 1 if it took the place of a dead one
	Host        string      `json:"host"`
	PID         int         `json:"pid"`
	End         string      `json:"end"`
	Status      string      `json:"status"`          // of the operating system's process
	Clone       string      `json:"clone,omitempty"` // the tool that has started it
	Counts
	Usage *counters.Usage `json:"usage,omitempty"` // as it has last said
}

// Add adds one process, which did what the stats say.
func (r *Report) Add(p Process, s job.Stats) {
	p.add(s)
	r.add(s)
	p.Usage = s.Usage
	r.count(p.Process, s.Counters)
	r.Processes = append(r.Processes, p)
	for name, t := range s.TaskTypes {
		all := r.TaskTypes[name]
		all.add(t, r.Degrees[p.Process.Rank])
		r.TaskTypes[name] = all
	}
}

// Write writes the report to a file, indented.
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

// Line returns the report on one line.
func (r *Report) Line() ([]byte, error) {
	r.Version = Version
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the report: %w", err)
	}
	return b, nil
}
