package recoverybench

import (
	"context"
	"fmt"
	"strings"

	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

// Problem is what HPCCG solves on each rank.
type Problem struct {
	NX    int `json:"nx"`
	NY    int `json:"ny"`
	NZ    int `json:"nz"`
	Iters int `json:"iters"`
}

// Job is one run of intrarun.
type Job struct {
	Ranks, Replicas int
	Flags           []string
	Traced          bool // the times of all tasks are wanted
}

// Run is what a job came to.
type Run struct {
	Code    int     // of intrarun: 0, or 3 when a rank was lost
	Wall    float64 // seconds since all had joined
	Seconds float64 // of the solver, 0 if it did not come to its end
	XSHA256 string

	Replacements []trial.Replacement
	Deaths       []float64         // seconds since all had joined
	Sets         int               // of checkpoint files that were completed
	Tasks        map[int][]float64 // by replica of rank 0: when each body began, in the same seconds
}

// Runner runs a job. Programs.Run is one.
type Runner func(ctx context.Context, j Job, pr Problem) (Run, error)

// Programs are the executables, and a folder for what they write.
type Programs struct{ Intrarun, HPCCG, Dir string }

// lostRank is intrarun's exit code after the loss of a rank.
const lostRank = 3

// Run implements Runner.
func (p *Programs) Run(ctx context.Context, j Job, pr Problem) (Run, error) {
	job := trial.Job{Intrarun: p.Intrarun, Ranks: j.Ranks, Replicas: j.Replicas, Traced: j.Traced, MayBe: []int{lostRank},
		Program: append([]string{p.HPCCG}, trial.HPCCG(pr.NX, pr.NY, pr.NZ, pr.Iters)...)}
	for _, f := range j.Flags {
		job.Flags = append(job.Flags, strings.ReplaceAll(f, dirMark, p.Dir))
	}
	out, err := job.Run(ctx)
	if err != nil {
		return Run{}, err
	}
	r, err := parse(out.Stdout, out.Report)
	if err != nil || !j.Traced {
		return r, err
	}
	return r, r.addTrace(out.Trace)
}

// dirMark stands in flags for the folder of the programs.
const dirMark = "{dir}"

// parse reads what HPCCG printed, and intrarun's report.
func parse(out, report []byte) (Run, error) {
	rep, err := trial.ParseReport(report)
	if err != nil {
		return Run{}, err
	}
	r := Run{Code: rep.ExitCode, Wall: rep.Wall, Replacements: rep.Replacements, Sets: len(rep.Checkpoint.Sets)}
	for _, f := range rep.Failures {
		r.Deaths = append(r.Deaths, f.At)
	}
	if r.Wall <= 0 {
		return r, fmt.Errorf("%w: it took %g seconds", trial.ErrOutput, r.Wall)
	}
	if r.Code == lostRank {
		return r, nil
	}
	var line struct {
		Seconds map[string]float64 `json:"seconds"`
		XSHA256 string             `json:"x_sha256"`
	}
	if err := trial.Decode("HPCCG printed", out, &line); err != nil {
		return r, err
	}
	r.Seconds, r.XSHA256 = line.Seconds["total"], line.XSHA256
	if r.Seconds <= 0 || r.XSHA256 == "" {
		return r, fmt.Errorf("%w: HPCCG spent %g seconds and has the hash %q", trial.ErrOutput, r.Seconds, r.XSHA256)
	}
	return r, nil
}

// addTrace takes the tasks of rank 0 out of a timeline, whose clock is set by
// the first death.
func (r *Run) addTrace(trace []byte) error {
	var t struct {
		Events []struct {
			Name  string  `json:"name"`
			Cat   string  `json:"cat"`
			Phase string  `json:"ph"`
			TS    float64 `json:"ts"` // µs
			PID   int     `json:"pid"`
			TID   int     `json:"tid"`
		} `json:"traceEvents"`
	}
	if err := trial.Decode("the trace is", trace, &t); err != nil {
		return err
	}
	offset, set := 0.0, false
	for _, e := range t.Events {
		if !set && e.Cat == "failure" && len(r.Deaths) > 0 {
			offset, set = e.TS/1e6-r.Deaths[0], true
		}
	}
	if !set {
		return fmt.Errorf("%w: the trace shows no death", trial.ErrOutput)
	}
	r.Tasks = make(map[int][]float64)
	for _, e := range t.Events {
		if e.Cat == "task" && e.Phase == "X" && e.PID == 1 {
			r.Tasks[e.TID-1] = append(r.Tasks[e.TID-1], e.TS/1e6-offset)
		}
	}
	return nil
}
