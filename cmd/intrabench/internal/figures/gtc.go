package figures

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/intrahpc/intra/cmd/intrabench/internal/inout"

	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

// GTCProblem is the plasma that GTC simulates, the same one in every configuration.
type GTCProblem struct {
	IonsPerCell int `json:"micell"`
	Surfaces    int `json:"mpsi"`
	MaxTheta    int `json:"mthetamax"`
	MaxZeta     int `json:"mzetamax"`
	Steps       int `json:"steps"`
	Tasks       int `json:"tasks"` // tasks of a section; 0 = the default of GTC
}

// GTCKernels are the parts of GTC that share work in the paper.
var GTCKernels = []string{"push", "charge"}

// gtcTasks are the types of tasks of each kernel. Those of push have inout variables.
var gtcTasks = map[string][]string{"push": {"Predict", "Correct"}, "charge": {"Charge"}}

// GTCConfigs returns the configurations of figure 6c, followed by more. They use the two cores
// of the native run. If doubled, they use four cores, as in the paper.
func GTCConfigs(doubled bool, more ...Config) []Config {
	configs := append([]Config{Native, Replicated, Static, Send, Auto}, more...)
	if doubled {
		for i := range configs {
			configs[i].Ranks = Native.Ranks
		}
	}
	return configs
}

// GTCMeasurement is the result of MeasureGTC. Efficiency is defined as in the paper: T(native)
// / T, divided by the number of cores relative to the native run.
type GTCMeasurement struct {
	Problem GTCProblem `json:"problem"`
	Doubled bool       `json:"doubled"` // the configurations use twice the cores of the native run
	Series
	InOut []inout.Result `json:"inout"` // costs of the copies of inout variables, measured by themselves
}

// GTCRunner makes one trial. Programs.RunGTC implements it.
type GTCRunner func(ctx context.Context, c Config, pr GTCProblem) (Trial, error)

// MeasureGTC is Measure for GTC, with configurations of GTCConfigs. It does not fill InOut.
func MeasureGTC(ctx context.Context, run GTCRunner, pr GTCProblem, rounds int, doubled bool, configs []Config, before func(round int, c Config)) (*GTCMeasurement, error) {
	m := &GTCMeasurement{Problem: pr, Doubled: doubled}
	var err error
	m.Series, err = alternate(ctx, rounds, configs, before, func(ctx context.Context, c Config) (Trial, error) { return run(ctx, c, pr) })
	if err != nil {
		return nil, err
	}
	if err := m.sameBits(); err != nil {
		return nil, err
	}
	m.sumUp(GTCKernels)
	m.Models, m.Links, m.Sections = m.models(GTCKernels), m.links(), m.sectionTimes()
	return m, nil
}

// gtc returns a run of the problem.
func (p *Programs) gtc(c Config, pr GTCProblem) trial.Job {
	args := []string{p.App, "-json", "-micell", strconv.Itoa(pr.IonsPerCell), "-mpsi", strconv.Itoa(pr.Surfaces),
		"-mthetamax", strconv.Itoa(pr.MaxTheta), "-mzetamax", strconv.Itoa(pr.MaxZeta), "-steps", strconv.Itoa(pr.Steps)}
	if pr.Tasks > 0 {
		args = append(args, "-tasks", strconv.Itoa(pr.Tasks))
	}
	return p.job(c, args)
}

// RunGTC makes one trial.
func (p *Programs) RunGTC(ctx context.Context, c Config, pr GTCProblem) (Trial, error) {
	return try(ctx, c, p.gtc(c, pr), parseGTC)
}

// parseGTC parses the line that GTC prints with -json, and intrarun's report. Total is the
// time of the loop over the steps, without the loading of the ions.
func parseGTC(out, report []byte) (Trial, error) {
	var line struct {
		Seconds     map[string]float64 `json:"seconds"`
		StateSHA256 string             `json:"state_sha256"`
	}
	if err := trial.Decode("GTC printed", out, &line); err != nil {
		return Trial{}, err
	}
	if line.StateSHA256 == "" {
		return Trial{}, fmt.Errorf("%w: GTC printed no hash of its state", trial.ErrOutput)
	}
	rep, err := parseReport(report)
	if err != nil {
		return Trial{}, err
	}
	t := Trial{StateSHA256: line.StateSHA256, Samples: make(map[string]Sample), Tasks: taskSamples(rep)}
	total := Sample{Seconds: line.Seconds[Total] - line.Seconds["load"]}
	if total.Seconds <= 0 {
		return Trial{}, fmt.Errorf("%w: GTC spent %g seconds in its steps", trial.ErrOutput, total.Seconds)
	}
	for _, k := range GTCKernels {
		s := Sample{Seconds: line.Seconds[k]}
		if s.Seconds <= 0 {
			return Trial{}, fmt.Errorf("%w: GTC spent %g seconds in %s", trial.ErrOutput, s.Seconds, k)
		}
		for name, tt := range rep.TaskTypes {
			if slices.Contains(gtcTasks[k], name[strings.LastIndexByte(name, '.')+1:]) {
				s.WaitSeconds += tt.WaitSeconds / float64(len(rep.Processes))
				s.UpdateBytes += tt.UpdateBytes
				if s.Decision != "" && s.Decision != tt.Decision {
					s.Decision = "mixed" // the decisions for Predict and Correct differ
				} else {
					s.Decision = tt.Decision
				}
			}
		}
		total.WaitSeconds += s.WaitSeconds
		total.UpdateBytes += s.UpdateBytes
		t.Samples[k] = s
	}
	t.Samples[Total] = total
	return t, nil
}

// gtcPaper is the efficiency of GTC as a whole in the paper. The paper gives no digits for the
// kernels.
var gtcPaper = map[string]string{Replicated.Name: "<= 0.50", Static.Name: "> 0.70", Send.Name: "> 0.70"}

const gtcNote = `total: the steps, without loading. wait: share of the time spent waiting for updates of push and charge.
paper: Ropars, Lefray, Kim, Schiper, "Efficient Process Replication for MPI Applications: Sharing Work
Between Replicas", IPDPS 2015, V-D and Figure 6c, with resources doubled: 256 processes native, 512
replicated, mzetamax = 64, npartdom = 4, micell = 200.
`

// Table writes figure 6c as text, for a machine with that number of cores.
func (m *GTCMeasurement) Table(w io.Writer, cores int) error {
	p := m.Problem
	fmt.Fprintf(w, "GTC, micell %d, mpsi %d, mthetamax %d, mzetamax %d, %d steps, %d rounds in alternation\n",
		p.IonsPerCell, p.Surfaces, p.MaxTheta, p.MaxZeta, p.Steps, m.Rounds)
	if m.Doubled {
		fmt.Fprintln(w, "resources doubled at constant problem size, as in the paper: native on 2 cores, the others on 4;\nE = T(native) / (2 T), median [quartiles] of the quotients of each round")
	} else {
		fmt.Fprintln(w, "constant resources at constant problem size: native as 2 ranks, the others as 1 rank with 2 replicas;\nE = T(native) / T, median [quartiles] of the quotients of each round")
	}
	need := 0
	for _, c := range m.Configs {
		need = max(need, c.Ranks*c.Replicas)
	}
	if need > cores {
		fmt.Fprintf(w, "WARNING: up to %d processes on %d cores: they wait for each other's cores, and E says little\n", need, cores)
	}
	t := newColumns(w)
	for _, k := range append(slices.Clone(GTCKernels), Total) {
		fmt.Fprintf(t, "\nFigure 6c, %s\tprocesses\tseconds\t\tE\t\twait\tdecision\tpaper\n", k)
		for _, c := range m.Configs {
			r, _ := m.Row(k, c.Name)
			said := ""
			if k == Total {
				said = gtcPaper[c.Name]
			}
			fmt.Fprintf(t, "  %s\t%d x %d\t%.4f\t%s\t%.3f\t%s\t%.1f%%\t%s\t%s\n", c.Name, c.Ranks, c.Replicas, r.Seconds.Median, brackets(r.Seconds, 4),
				r.E.Median, brackets(r.E, 3), 100*r.Wait, decisions(r.Decision), said)
		}
	}
	if len(m.InOut) > 0 {
		fmt.Fprintf(t, "\ncopies of inout variables\textra time\t\tpaper\n")
		for i, r := range m.InOut {
			over, said := inout.Overhead(m.InOut[0], r), ""
			if i > 0 && !inout.Ways[i].Out() {
				said = "6%"
			}
			fmt.Fprintf(t, "  %s\t%+.1f%%\t[%+.1f%% %+.1f%%]\t%s\n", r.Way, 100*over.Median, 100*over.Q1, 100*over.Q3, said)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(m.InOut) > 0 {
		fmt.Fprintf(w, "(of a push of particles by itself, two replicas in one process, not of GTC's own run)\n")
	}
	if err := m.bySections(w); err != nil {
		return err
	}
	if err := m.warn(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s", gtcNote)
	return err
}

// Plot draws figure 6c.
func (m *GTCMeasurement) Plot(name string) error {
	if err := CheckPlotName(name); err != nil {
		return err
	}
	bars, err := m.barPlot("GTC", GTCKernels)
	if err != nil {
		return fmt.Errorf("draw figure 6c: %w", err)
	}
	if m.Doubled {
		bars.plot.Y.Label.Text = "time / native time on half the cores (less is better)"
	}
	panels, err := m.withCurves(bars, "GTC")
	if err != nil {
		return err
	}
	return writePanels(name, panels)
}
