package figures

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

// Proxy is an example that represents an application, with its problem.
type Proxy struct {
	Name   string   `json:"name"`
	Folder string   `json:"folder"` // name of its folder in examples
	Args   []string `json:"args"`
	// NX is the number of points in x on each rank of the native run. A run with fewer ranks
	// has more points on each, so that all configurations solve the same problem. 0: the
	// arguments give the global problem.
	NX int `json:"nx,omitempty"`
}

// NPB returns a NAS benchmark.
func NPB(name, class string) Proxy {
	return Proxy{Name: name + " " + class, Folder: "npb/" + name, Args: []string{"-class", class}}
}

// HPCG returns the benchmark HPCG on n points for each rank of the native run.
func HPCG(n [3]int, sets int) Proxy {
	return Proxy{Name: "hpcg", Folder: "hpcg", NX: n[0], Args: box(n, "-sets", strconv.Itoa(sets))}
}

// MiniGhost returns miniGhost on n points for each rank of the native run.
func MiniGhost(stencil string, n [3]int, vars, steps int) Proxy {
	return Proxy{Name: "minighost " + stencil, Folder: "minighost", NX: n[0],
		Args: box(n, "-stencil", stencil, "-vars", strconv.Itoa(vars), "-steps", strconv.Itoa(steps))}
}

// AMG returns AMG on n points for each rank of the native run.
func AMG(problem, solver string, n [3]int) Proxy {
	if problem == "5pt" {
		n[2] = 1
	}
	return Proxy{Name: "amg " + problem + " " + solver, Folder: "amg", NX: n[0], Args: box(n, "-problem", problem, "-solver", solver)}
}

func box(n [3]int, args ...string) []string {
	return append(args, "-ny", strconv.Itoa(n[1]), "-nz", strconv.Itoa(n[2]))
}

// ProxyConfigs returns the configurations of a proxy: native, the replicated ones, and more. The
// replicated ones use two cores. The native run uses two cores as well, or one if doubled.
func ProxyConfigs(doubled bool, more ...Config) []Config {
	native := Native
	if doubled {
		native.Ranks = 1
	}
	return append([]Config{native, Replicated, Send, Stored}, more...)
}

// Stored stores results wherever that is possible.
var Stored = Config{Name: "direct", Ranks: 1, Replicas: 2, Flags: []string{"-direct=on"}}

// Throttled returns Send over links of that bandwidth.
func Throttled(limit string) (Config, error) {
	c, err := Limited(limit)
	c.Name, c.Flags = "send at "+limit, slices.Concat(Send.Flags, []string{"-limit", limit})
	return c, err
}

// command returns the command line of the program in a configuration. native is the number of
// ranks of the native run.
func (p Proxy) command(dir string, c Config, native int) []string {
	args := append([]string{filepath.Join(dir, filepath.Base(p.Folder)), "-json"}, p.Args...)
	if p.NX > 0 {
		args = append(args, "-nx", strconv.Itoa(p.NX*native/c.Ranks))
	}
	return args
}

// BuildProxies builds intrarun and the programs.
func BuildProxies(ctx context.Context, proxies ...Proxy) (*Programs, error) {
	dir, err := os.MkdirTemp("", "intrabench-")
	if err != nil {
		return nil, fmt.Errorf("make room for the programs: %w", err)
	}
	p := &Programs{Intrarun: filepath.Join(dir, "intrarun"), dir: dir}
	all := map[string][]string{p.Intrarun: {module + "/cmd/intrarun"}}
	for _, x := range proxies {
		all[filepath.Join(dir, filepath.Base(x.Folder))] = []string{"-tags=intra", module + "/examples/" + x.Folder}
	}
	return p, p.build(ctx, all)
}

// ProxyRunner makes one trial. native is the number of ranks of the native run.
// Programs.RunProxy implements it.
type ProxyRunner func(ctx context.Context, c Config, x Proxy, native int) (Trial, error)

// RunProxy makes one trial.
func (p *Programs) RunProxy(ctx context.Context, c Config, x Proxy, native int) (Trial, error) {
	trials, errs := make([]Trial, max(c.Jobs, 1)), make([]error, max(c.Jobs, 1))
	var all sync.WaitGroup
	for i := range trials {
		all.Go(func() { trials[i], errs[i] = try(ctx, c, p.job(c, x.command(p.dir, c, native)), parseProxy) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return Trial{}, fmt.Errorf("%s: %w", x.Name, err)
	}
	return together(trials), nil
}

// together returns the average of jobs that ran at the same time.
func together(trials []Trial) Trial {
	t := trials[0]
	for name, s := range t.Samples {
		s.Seconds = 0
		for _, own := range trials {
			s.Seconds += own.Samples[name].Seconds / float64(len(trials))
		}
		t.Samples[name] = s
	}
	return t
}

// Wall is the name of the whole job among the samples. Its time includes the parts that the
// program does not time.
const Wall = "wall"

// verdicts are the fields in which programs report whether their result is right.
var verdicts = []string{"verified", "valid", "converged"}

// timed are the fields that differ from run to run.
var timed = []string{"seconds", "times", "gflops", "mops"}

// parseProxy parses the line that a program prints with -json, and intrarun's report. The
// kernels are named after their tasks.
func parseProxy(out, report []byte) (Trial, error) {
	var line map[string]any
	if err := trial.Decode("the program printed", out, &line); err != nil {
		return Trial{}, err
	}
	rep, err := parseReport(report)
	if err != nil {
		return Trial{}, err
	}
	for _, name := range verdicts {
		if line[name] == false {
			return Trial{}, fmt.Errorf("%w: the program says that its result is wrong: %s", trial.ErrOutput, trial.Clip(out))
		}
	}
	total := Sample{}
	total.Seconds, _ = line["seconds"].(float64)
	if total.Seconds <= 0 || rep.Wall <= 0 {
		return Trial{}, fmt.Errorf("%w: the program took %g of %g seconds", trial.ErrOutput, total.Seconds, rep.Wall)
	}
	for _, name := range timed {
		delete(line, name)
	}
	bits, err := json.Marshal(line)
	if err != nil {
		return Trial{}, fmt.Errorf("%w: %w", trial.ErrOutput, err)
	}
	t := Trial{StateSHA256: fmt.Sprintf("%x", sha256.Sum256(bits)), Samples: make(map[string]Sample), Tasks: taskSamples(rep)}
	processes := float64(len(rep.Processes))
	for name, tt := range rep.TaskTypes {
		if tt.Run == 0 {
			continue
		}
		s := Sample{
			// The time in sections includes sending, receiving and storing results. It may be
			// the smaller one, since a section may begin with tasks of another type.
			Seconds: max(tt.SectionSeconds, tt.Seconds+tt.WaitSeconds) / processes, WaitSeconds: tt.WaitSeconds / processes,
			UpdateBytes: tt.UpdateBytes, Sections: tt.SectionSeconds > 0, Run: tt.Run, Received: tt.Received, Decision: tt.Decision,
		}
		total.WaitSeconds += s.WaitSeconds
		total.UpdateBytes += s.UpdateBytes
		t.Samples[taskName(name)] = s
	}
	t.Samples[Total] = total
	t.Samples[Wall] = Sample{Seconds: rep.Wall, WaitSeconds: total.WaitSeconds, UpdateBytes: total.UpdateBytes}
	return t, nil
}

// ProxyMeasurement is the result of MeasureProxy.
type ProxyMeasurement struct {
	Proxy   Proxy    `json:"program"`
	Kernels []string `json:"kernels"` // sorted by time; without kernels that take almost none
	Series
}

// leastShare is the share of a replicated run from which a kernel gets a row.
const leastShare = 0.01

// MeasureProxy measures a proxy application in all configurations, in alternation. The results
// of configurations with the same number of ranks must agree bit by bit.
func MeasureProxy(ctx context.Context, run ProxyRunner, x Proxy, rounds int, configs []Config, before func(round int, c Config)) (*ProxyMeasurement, error) {
	m := &ProxyMeasurement{Proxy: x}
	var err error
	m.Series, err = alternate(ctx, rounds, configs, before, func(ctx context.Context, c Config) (Trial, error) {
		return run(ctx, c, x, configs[0].Ranks)
	})
	if err != nil {
		return nil, err
	}
	if err := m.sameBits(); err != nil {
		return nil, err
	}
	m.Kernels = m.kernels()
	m.sumUp(append([]string{Wall}, m.Kernels...))
	m.Models, m.Links, m.Sections = m.models(m.Kernels), m.links(), m.sectionTimes()
	return m, nil
}

// sameBits checks that all configurations with equal numbers of ranks have the same result,
// bit by bit. The order of sums depends on the number of ranks.
func (m *Series) sameBits() error {
	first := make(map[int]Trial)
	for _, t := range m.Trials {
		ranks := m.config(t.Config).Ranks
		if f, ok := first[ranks]; !ok {
			first[ranks] = t
		} else if f.StateSHA256 != t.StateSHA256 {
			return fmt.Errorf("%s ended in a state with hash %s, %s with %s: the results must not differ", t.Config, t.StateSHA256, f.Config, f.StateSHA256)
		}
	}
	return nil
}

// kernels lists the kernels that every run has and that take a relevant part of some run.
func (m *Series) kernels() (all []string) {
	most, runs := make(map[string]float64), make(map[string]int)
	for _, t := range m.Trials {
		for name, s := range t.Samples {
			if s.Seconds > 0 {
				runs[name]++
			}
			most[name] = max(most[name], s.Seconds)
		}
	}
	least := leastShare * most[Wall]
	delete(most, Wall)
	delete(most, Total)
	for name, seconds := range most {
		if seconds >= least && runs[name] == len(m.Trials) {
			all = append(all, name)
		}
	}
	slices.SortFunc(all, byMost(most))
	return all
}

// byMost sorts names by their values, the largest first.
func byMost(most map[string]float64) func(a, b string) int {
	return func(a, b string) int { return cmp.Or(cmp.Compare(most[b], most[a]), strings.Compare(a, b)) }
}
