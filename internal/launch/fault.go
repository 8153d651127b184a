package launch

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
)

// Faults are the faults to inject into a job.
type Faults struct {
	Kills   []job.Kill
	Flips   []job.Flip    // wrong results
	Again   []job.Again   // runs from a safe point, alone
	Stale   bool          // processes that keep results overwrite the results that they lack
	Weibull *head.Weibull // random kills; nil: none
}

// validate checks that the faults refer to processes of a job with these degrees.
func (fs *Faults) validate(degrees []int) error {
	processes := job.Processes(degrees)
	for _, k := range fs.Kills {
		if !slices.Contains(processes, k.Process) {
			return fmt.Errorf("-kill %v: the job has no process %v, its degrees are %v", k, k.Process, degrees)
		}
	}
	for _, f := range fs.Flips {
		if !slices.Contains(processes, f.Process) {
			return fmt.Errorf("-fault %s: the job has no process %v, its degrees are %v", f.Fault(), f.Process, degrees)
		}
	}
	for _, a := range fs.Again {
		switch {
		case !slices.Contains(processes, a.Process):
			return fmt.Errorf("-fault %s: the job has no process %v, its degrees are %v", a.Fault(), a.Process, degrees)
		case degrees[a.Process.Rank] == 1:
			return fmt.Errorf("-fault %s: rank %d has one replica, which keeps nothing to run again from", a.Fault(), a.Process.Rank)
		}
	}
	return nil
}

// Add parses the value of -fault, KIND:WHAT, and adds that fault.
func (fs *Faults) Add(spec string) error {
	kind, what, _ := strings.Cut(spec, ":")
	switch kind {
	case "flip", "defect":
		parse := job.ParseFlip
		if kind == "defect" {
			parse = job.ParseDefect
		}
		f, err := parse(what)
		if err != nil {
			return err
		}
		fs.Flips = append(fs.Flips, f)
		return nil
	case "again":
		a, err := job.ParseAgain(what)
		if err != nil {
			return err
		}
		fs.Again = append(fs.Again, a)
		return nil
	case "stale":
		if what != "" {
			return fmt.Errorf("%q: want stale, without anything behind", what)
		}
		fs.Stale = true
		return nil
	case "weibull":
		w, err := parseWeibull(what)
		switch {
		case err != nil:
			return err
		case fs.Weibull != nil:
			return errors.New("want weibull at most once: a job has one schedule")
		}
		fs.Weibull = w
		return nil
	case "kill":
		return fmt.Errorf("want -kill %s", what)
	}
	return fmt.Errorf("unknown kind %q: want flip:RANK.REPLICA@WHAT:N, defect:RANK.REPLICA,q=RATE, again:RANK.REPLICA@FROM-TO, stale or weibull:shape=S,mtbf=T, like flip:0.1@task:30", kind)
}

// Bounds of shape and mtbf, within which the schedule can be computed.
const (
	leastShape, mostShape = 0.1, 100
	leastMTBF             = time.Millisecond
)

// parseWeibull parses shape=S,mtbf=T.
func parseWeibull(s string) (*head.Weibull, error) {
	const want = "want shape=S,mtbf=T like shape=0.7,mtbf=20s"
	w := new(head.Weibull)
	for part := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		var err error
		switch name {
		case "shape":
			w.Shape, err = strconv.ParseFloat(value, 64)
			if err != nil || !(w.Shape >= leastShape && w.Shape <= mostShape) {
				return nil, fmt.Errorf("shape %q: want a number from %v to %v, like 0.7", value, leastShape, mostShape)
			}
		case "mtbf":
			w.MTBF, err = time.ParseDuration(value)
			if err != nil || w.MTBF < leastMTBF {
				return nil, fmt.Errorf("mtbf %q: want a duration of at least %v, like 20s", value, leastMTBF)
			}
		default:
			return nil, fmt.Errorf("%q has neither a shape nor an mtbf: %s", part, want)
		}
	}
	if w.Shape == 0 || w.MTBF == 0 {
		return nil, errors.New(want)
	}
	return w, nil
}
