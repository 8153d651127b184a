package recoverybench

import (
	"context"
	"fmt"
	"strings"

	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
	"github.com/intrahpc/intra/internal/job"
)

// Problem is the problem that HPCCG solves on each rank.
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
	Traced          bool // Tasks of the result is needed
}

// Run is the result of a job.
type Run struct {
	Code    int     // exit code of intrarun: 0, or 3 if a rank was lost
	Wall    float64 // seconds since all had joined
	Seconds float64 // seconds of the solver; 0 if it did not finish
	XSHA256 string

	Replacements []trial.Replacement
	Deaths       []float64         // time of each death, in seconds since all had joined
	Sets         int               // number of complete sets of checkpoint files
	Tasks        map[int][]float64 // by replica of rank 0: when each body began, in seconds since all had joined
}

// Runner runs a job. Programs.Run implements it.
type Runner func(ctx context.Context, j Job, pr Problem) (Run, error)

// Programs are the executables, and a folder for the files that they write.
type Programs struct{ Intrarun, HPCCG, Dir string }

// lostRank is intrarun's exit code after the loss of a rank.
const lostRank = 3

// Run implements Runner.
func (p *Programs) Run(ctx context.Context, j Job, pr Problem) (Run, error) {
	run := trial.Job{Intrarun: p.Intrarun, Ranks: j.Ranks, Replicas: j.Replicas, Traced: j.Traced, MayBe: []int{lostRank},
		Program: append([]string{p.HPCCG}, trial.HPCCG(pr.NX, pr.NY, pr.NZ, pr.Iters)...)}
	for _, f := range j.Flags {
		run.Flags = append(run.Flags, strings.ReplaceAll(f, dirMark, p.Dir))
	}
	out, err := run.Run(ctx)
	if err != nil {
		return Run{}, err
	}
	r, err := parse(out.Stdout, out.Report)
	if err != nil || !j.Traced {
		return r, err
	}
	return r, r.addTrace(out.Trace)
}

// dirMark stands for the folder of the programs in flags.
const dirMark = "{dir}"

// parse parses the output of HPCCG, and intrarun's report.
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

// addTrace extracts the tasks of rank 0 from a timeline. The first death relates the clock of
// the timeline to that of the report.
func (r *Run) addTrace(trace []byte) error {
	type row struct{ Group, Row int }
	var t struct {
		Events []struct {
			Name  string  `json:"name"`
			Cat   string  `json:"cat"`
			Phase string  `json:"ph"`
			TS    float64 `json:"ts"` // time in µs
			PID   int     `json:"pid"`
			TID   int     `json:"tid"`
			Args  struct {
				Name string `json:"name"`
			} `json:"args"`
		} `json:"traceEvents"`
	}
	if err := trial.Decode("the trace is", trace, &t); err != nil {
		return err
	}
	offset, set := 0.0, false
	replicas := make(map[row]int) // by row of the timeline: the replica of rank 0 to which it belongs
	for _, e := range t.Events {
		switch {
		case e.Phase == "M" && e.Name == "thread_name":
			name, _, _ := strings.Cut(e.Args.Name, " ") // the name is like "0.1 on host (2)"
			var p job.Process
			if p.UnmarshalText([]byte(name)) == nil && p.Rank == 0 {
				replicas[row{e.PID, e.TID}] = p.Replica
			}
		case !set && e.Cat == "death" && len(r.Deaths) > 0:
			offset, set = e.TS/1e6-r.Deaths[0], true
		}
	}
	if !set {
		return fmt.Errorf("%w: the trace shows no death", trial.ErrOutput)
	}
	r.Tasks = make(map[int][]float64)
	for _, e := range t.Events {
		if replica, ok := replicas[row{e.PID, e.TID}]; ok && e.Cat == "task" && e.Phase == "X" {
			r.Tasks[replica] = append(r.Tasks[replica], e.TS/1e6-offset)
		}
	}
	return nil
}
