package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Job is one run of intrarun.
type Job struct {
	Prefix          []string // put before the command line
	Intrarun        string
	Ranks, Replicas int
	Degrees         string   // degrees of the ranks, instead of Ranks and Replicas
	Flags           []string // additional flags of intrarun
	Program         []string // program with its arguments
	Traced          bool
	MayBe           []int // accepted exit codes, besides 0
}

// Command returns the command line. It writes the report to a file, and also the timeline if
// the job is traced.
func (j Job) Command(report, trace string) []string {
	args := append(slices.Clone(j.Prefix), j.Intrarun, "-quiet", "-report", report)
	if j.Degrees != "" {
		args = append(args, "-degrees", j.Degrees)
	} else {
		args = append(args, "-n", strconv.Itoa(j.Ranks), "-r", strconv.Itoa(j.Replicas))
	}
	if j.Traced {
		args = append(args, "-trace", trace)
	}
	return slices.Concat(args, j.Flags, j.Program)
}

// Output holds the output of a job.
type Output struct {
	Stdout, Report []byte
	Trace          []byte // the timeline, if the job was traced
}

// Run runs the job until it ends.
func (j Job) Run(ctx context.Context) (o Output, err error) {
	dir, err := os.MkdirTemp("", "intrabench-")
	if err != nil {
		return o, fmt.Errorf("make room for the report: %w", err)
	}
	defer os.RemoveAll(dir)
	report, trace := filepath.Join(dir, "report.json"), filepath.Join(dir, "trace.json")
	if o.Stdout, err = Run(ctx, j.Command(report, trace), j.MayBe...); err != nil {
		return o, err
	}
	if o.Report, err = os.ReadFile(report); err != nil {
		return o, fmt.Errorf("read the report: %w", err)
	}
	if j.Traced {
		if o.Trace, err = os.ReadFile(trace); err != nil {
			return o, fmt.Errorf("read the trace: %w", err)
		}
	}
	return o, nil
}

// Report holds those fields of intrarun's report that measurements use.
type Report struct {
	ExitCode     int                 `json:"exit_code"`
	Wall         float64             `json:"wall_seconds"`
	Tagged       bool                `json:"intra_tag"`
	Processes    []json.RawMessage   `json:"processes"`
	TaskTypes    map[string]TaskType `json:"task_types"`
	Replacements []Replacement       `json:"replacements"`
	Failures     []struct {
		At float64 `json:"at_seconds"`
	} `json:"failures"`
	Checkpoint struct {
		Sets []json.RawMessage `json:"sets"`
	} `json:"checkpoint"`
}

// TaskType is the sum of the tasks of a kernel over all processes.
type TaskType struct {
	Run      float64 `json:"run"`
	Received float64 `json:"received"`
	Seconds  float64 `json:"seconds"` // seconds in bodies
	// SectionSeconds is the time in sections that begin with such a task.
	SectionSeconds float64 `json:"section_seconds"`
	WaitSeconds    float64 `json:"wait_seconds"`
	UpdateBytes    float64 `json:"update_bytes"`
	DecidedAfter   float64 `json:"decided_after"`
	Stored         float64 `json:"stored"`
	Decision       string  `json:"decision"`
}

// Replacement is a process that replaced a dead one.
type Replacement struct {
	Bytes  float64 `json:"bytes"`
	Died   float64 `json:"died_seconds"`
	Joined float64 `json:"joined_seconds"`
}

// ParseReport parses a report.
func ParseReport(b []byte) (Report, error) {
	var r Report
	if err := Decode("the report of intrarun is", b, &r); err != nil {
		return r, err
	}
	return r, nil
}
