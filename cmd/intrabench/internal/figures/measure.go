package figures

import (
	"context"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

// Measurement is the result of Measure.
type Measurement struct {
	Problem Problem `json:"problem"`
	Series
}

// Series holds all trials of some configurations and their summaries.
type Series struct {
	Rounds  int      `json:"rounds"`
	Configs []Config `json:"configs"`
	Rows    []Row    `json:"rows"`
	Trials  []Trial  `json:"trials"`
	Models  []Model  `json:"models,omitempty"` // models of the kernels, if links were limited
	Links   []Link   `json:"links,omitempty"`  // decisions on the links, if links were limited

	Kept     []KeptRow     `json:"kept,omitempty"` // what was sent, if results were kept
	Sections []SectionTime `json:"sections,omitempty"`
}

// Row summarises one kernel in one configuration.
type Row struct {
	Kernel   string         `json:"kernel"` // a kernel, or Summed or Total
	Config   string         `json:"config"`
	Seconds  spread.Spread  `json:"seconds"`
	E        spread.Spread  `json:"efficiency"` // spread of the quotients of each round
	Wait     float64        `json:"wait_share"` // share of the time spent waiting for updates; median
	Decision map[string]int `json:"decisions"`  // number of runs that ended with each decision, if there was a choice
}

// Runner makes one trial. Programs.Run implements it.
type Runner func(ctx context.Context, c Config, pr Problem) (Trial, error)

// Measure runs every configuration in every round, so that drift of the machine affects all of
// them alike. Each configuration is compared with its base; without one, with the first
// configuration. before is called before each trial and may be nil.
func Measure(ctx context.Context, run Runner, pr Problem, rounds int, configs []Config, before func(round int, c Config)) (*Measurement, error) {
	m := &Measurement{Problem: pr}
	var err error
	m.Series, err = alternate(ctx, rounds, configs, before, func(ctx context.Context, c Config) (Trial, error) { return run(ctx, c, pr) })
	if err != nil {
		return nil, err
	}
	if err := m.sameResult(); err != nil {
		return nil, err
	}
	m.sumUp(pr.rows())
	m.Models, m.Links, m.Sections = m.models(pr.kernels()), m.links(), m.sectionTimes()
	return m, nil
}

// alternate makes the trials of all rounds.
func alternate(ctx context.Context, rounds int, configs []Config, before func(round int, c Config), run func(context.Context, Config) (Trial, error)) (Series, error) {
	m := Series{Rounds: rounds, Configs: configs}
	for round := range rounds {
		for i := range configs {
			c := configs[trial.Turn(round, i, len(configs))]
			if before != nil {
				before(round, c)
			}
			t, err := run(ctx, c)
			if err != nil {
				return Series{}, fmt.Errorf("round %d: %w", round+1, err)
			}
			t.Config, t.Round = c.Name, round
			m.Trials = append(m.Trials, t)
		}
	}
	m.Kept = m.keptRows()
	return m, nil
}

// sumUp fills Rows: the rows of the whole run, then the rows of each kernel. For a peer the
// times of the kernels are unknown.
func (m *Series) sumUp(kernels []string) {
	for _, k := range append([]string{Total}, kernels...) {
		for _, c := range m.Configs {
			if k == Total || c.Name != PeerConfig.Name {
				m.Rows = append(m.Rows, m.row(k, c.Name))
			}
		}
	}
}

// sameResult checks that all configurations have computed the same result. With equal numbers
// of ranks, the results must agree bit by bit. The number of passes must be the same
// everywhere.
func (m *Measurement) sameResult() error {
	hash := make(map[int]Trial)
	first := m.Trials[0]
	for _, t := range m.Trials {
		if t.Config == PeerConfig.Name { // the results of a peer differ
			continue
		}
		if t.Passes != first.Passes {
			return fmt.Errorf("%s made %d passes, %s made %d: choose fewer iterations, so that none converges before", t.Config, t.Passes, first.Config, first.Passes)
		}
		ranks := m.config(t.Config).Ranks
		if h, ok := hash[ranks]; ok && h.XSHA256 != t.XSHA256 {
			return fmt.Errorf("%s computed x with hash %s, %s with %s: the results must not differ", t.Config, t.XSHA256, h.Config, h.XSHA256)
		}
		hash[ranks] = t
	}
	return nil
}

func (m *Series) config(name string) Config {
	return m.Configs[slices.IndexFunc(m.Configs, func(c Config) bool { return c.Name == name })]
}

// base returns the configuration with which config is compared.
func (m *Series) base(config string) Config {
	if name := m.config(config).Base; name != "" {
		return m.config(name)
	}
	return m.Configs[0]
}

// series returns the samples of a kernel in a configuration, round by round.
func (m *Series) series(kernel, config string) []Sample {
	s := make([]Sample, m.Rounds)
	for _, t := range m.Trials {
		if t.Config == config {
			s[t.Round] = t.Samples[kernel]
		}
	}
	return s
}

func (m *Series) row(kernel, config string) Row {
	to := m.base(config)
	base, own := m.series(kernel, to.Name), m.series(kernel, config)
	r := Row{Kernel: kernel, Config: config, Decision: make(map[string]int)}
	resources := m.config(config).processes() / to.processes()
	var seconds, e, wait []float64
	for i, s := range own {
		seconds = append(seconds, s.Seconds)
		e = append(e, base[i].Seconds/(resources*s.Seconds))
		wait = append(wait, s.WaitSeconds/s.Seconds)
		if s.Decision != "" && m.config(config).decides() {
			r.Decision[s.Decision]++
		}
	}
	r.Seconds, r.E, r.Wait = spread.Of(seconds), spread.Of(e), spread.Of(wait).Median
	return r
}

// Row returns the row of a kernel in a configuration.
func (m *Series) Row(kernel, config string) (Row, bool) {
	i := slices.IndexFunc(m.Rows, func(r Row) bool { return r.Kernel == kernel && r.Config == config })
	if i < 0 {
		return Row{}, false
	}
	return m.Rows[i], true
}
