// Package share measures how much time sharing work saves in any program. It compares four
// kinds of runs in alternation: without replicas, with replicas that all run all tasks, with
// replicas that send each other their results, and with the defaults of intrarun.
package share

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

// Options sets the program and the number of runs.
type Options struct {
	Intrarun string // path of the executable
	Program  []string
	Ranks    int
	Replicas int
	Rounds   int
	Before   func(round int, config string) // called before each run; may be nil
}

// Config is one way to run the program.
type Config struct {
	Name     string   `json:"name"`
	Replicas int      `json:"replicas"`
	Flags    []string `json:"flags,omitempty"`
}

// configs are the configurations to compare. The first is the baseline.
func configs(replicas int) []Config {
	return []Config{
		{"native", 1, nil},
		{"replicated", replicas, []string{"-sched", "replicate"}},
		{"send", replicas, []string{"-direct=off"}},
		{"auto", replicas, nil},
	}
}

// Measurement is the result of Measure.
type Measurement struct {
	Program  []string `json:"program"`
	Ranks    int      `json:"ranks"`
	Replicas int      `json:"replicas"`
	Rounds   int      `json:"rounds"`
	Rows     []Row    `json:"rows"`
	Kernels  []Kernel `json:"kernels"`
	Differ   []string `json:"differ,omitempty"` // configurations whose output differs from that of the native run
}

// Row is the time of the whole program in one configuration. E is the efficiency: the native
// time over this time, divided by the factor in the number of processes.
type Row struct {
	Config  Config        `json:"config"`
	Seconds spread.Spread `json:"seconds"`
	E       spread.Spread `json:"efficiency"`
}

// Kernel is the time that one process spends on a kernel in one configuration, as the median
// over the rounds.
type Kernel struct {
	Name     string  `json:"kernel"`
	Config   string  `json:"config"`
	Run      float64 `json:"run_seconds"`  // seconds in its tasks
	Wait     float64 `json:"wait_seconds"` // seconds spent waiting for its updates
	Bytes    float64 `json:"bytes_per_task"`
	Stored   bool    `json:"stored,omitempty"`
	Decision string  `json:"decision"`
}

// run is the result of one run.
type run struct {
	trial.Report
	printed string
}

// Measure runs every configuration in every round, so that drift of the machine affects all
// of them alike.
func Measure(ctx context.Context, o Options) (*Measurement, error) {
	all := configs(o.Replicas)
	trials := make([][]run, len(all))
	for round := range o.Rounds {
		for i := range all {
			at := trial.Turn(round, i, len(all))
			if o.Before != nil {
				o.Before(round, all[at].Name)
			}
			t, err := o.run(ctx, all[at])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", all[at].Name, err)
			}
			trials[at] = append(trials[at], t)
		}
	}
	m := &Measurement{Program: o.Program, Ranks: o.Ranks, Replicas: o.Replicas, Rounds: o.Rounds}
	for i, c := range all {
		var seconds, e []float64
		for round, t := range trials[i] {
			seconds = append(seconds, t.Wall)
			e = append(e, trials[0][round].Wall/(float64(c.Replicas)*t.Wall))
		}
		m.Rows = append(m.Rows, Row{c, spread.Of(seconds), spread.Of(e)})
		m.Kernels = append(m.Kernels, kernels(c.Name, trials[i])...)
		if trials[i][0].printed != trials[0][0].printed {
			m.Differ = append(m.Differ, c.Name)
		}
	}
	slices.SortStableFunc(m.Kernels, func(a, b Kernel) int { return strings.Compare(a.Name, b.Name) })
	return m, nil
}

// kernels summarises the kernels of one configuration.
func kernels(config string, trials []run) (all []Kernel) {
	for name := range trials[0].TaskTypes {
		k := Kernel{Name: name, Config: config}
		var run, wait []float64
		for _, t := range trials {
			tt, processes := t.TaskTypes[name], float64(len(t.Processes))
			run, wait = append(run, tt.Seconds/processes), append(wait, tt.WaitSeconds/processes)
			k.Decision, k.Stored = tt.Decision, tt.Stored > 0
			if tt.Received > 0 {
				k.Bytes = tt.UpdateBytes / tt.Received
			}
		}
		k.Run, k.Wait = spread.Of(run).Median, spread.Of(wait).Median
		all = append(all, k)
	}
	return all
}

// run makes one trial.
func (o *Options) run(ctx context.Context, c Config) (run, error) {
	out, err := trial.Job{Intrarun: o.Intrarun, Ranks: o.Ranks, Replicas: c.Replicas, Flags: c.Flags, Program: o.Program}.Run(ctx)
	if err != nil {
		return run{}, err
	}
	r := run{printed: string(out.Stdout)}
	if r.Report, err = trial.ParseReport(out.Report); err != nil {
		return r, err
	}
	if len(r.Processes) == 0 || r.Wall <= 0 {
		return r, fmt.Errorf("%w: %d processes ran for %g s", trial.ErrOutput, len(r.Processes), r.Wall)
	}
	if !r.Tagged {
		return r, errors.New("the program was built without the tag intra, so nothing is shared: go build -tags intra, after go generate")
	}
	return r, nil
}
