package figures

import (
	"context"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
)

// Measurement is what a call of Measure has found.
type Measurement struct {
	Problem Problem  `json:"problem"`
	Rounds  int      `json:"rounds"`
	Configs []Config `json:"configs"`
	Rows    []Row    `json:"rows"`
	Models  []Model  `json:"models,omitempty"` // of the kernels, if links were limited
	Trials  []Trial  `json:"trials"`
}

// Row sums up one kernel in one configuration.
type Row struct {
	Kernel   string         `json:"kernel"` // or Total
	Config   string         `json:"config"`
	Seconds  spread.Spread  `json:"seconds"`
	E        spread.Spread  `json:"efficiency"` // of the quotients of each round
	Wait     float64        `json:"wait_share"` // of the time, waiting for updates; median
	Decision map[string]int `json:"decisions"`  // how often each was the last one, if there was a choice
}

// Runner makes one trial. Programs.Run is one.
type Runner func(ctx context.Context, c Config, pr Problem) (Trial, error)

// Measure runs every configuration in every round, so that all of them see
// the same drift of the machine. The first configuration is what the others
// are compared with. before is called before each trial and may be nil.
func Measure(ctx context.Context, run Runner, pr Problem, rounds int, configs []Config, before func(round int, c Config)) (*Measurement, error) {
	m := &Measurement{Problem: pr, Rounds: rounds, Configs: configs}
	for round := range rounds {
		for i := range configs {
			// The order turns, so that none always follows the same one.
			c := configs[(i+round)%len(configs)]
			if before != nil {
				before(round, c)
			}
			t, err := run(ctx, c, pr)
			if err != nil {
				return nil, fmt.Errorf("round %d: %w", round+1, err)
			}
			t.Config, t.Round = c.Name, round
			m.Trials = append(m.Trials, t)
		}
	}
	if err := m.sameResult(); err != nil {
		return nil, err
	}
	for _, k := range append([]string{Total}, Kernels...) {
		for _, c := range configs {
			m.Rows = append(m.Rows, m.row(k, c.Name))
		}
	}
	m.Models = m.models()
	return m, nil
}

// sameResult makes sure that what is compared has computed the same: bit by
// bit for equal numbers of ranks, and everywhere as many passes.
func (m *Measurement) sameResult() error {
	hash := make(map[int]Trial)
	first := m.Trials[0]
	for _, t := range m.Trials {
		if t.Config == PeerConfig.Name { // its results are its own
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

func (m *Measurement) config(name string) Config {
	return m.Configs[slices.IndexFunc(m.Configs, func(c Config) bool { return c.Name == name })]
}

// series returns the samples of a kernel in a configuration, round by round.
func (m *Measurement) series(kernel, config string) []Sample {
	s := make([]Sample, m.Rounds)
	for _, t := range m.Trials {
		if t.Config == config {
			s[t.Round] = t.Samples[kernel]
		}
	}
	return s
}

func (m *Measurement) row(kernel, config string) Row {
	base, own := m.series(kernel, m.Configs[0].Name), m.series(kernel, config)
	r := Row{Kernel: kernel, Config: config, Decision: make(map[string]int)}
	var seconds, e, wait []float64
	for i, s := range own {
		seconds = append(seconds, s.Seconds)
		e = append(e, base[i].Seconds/s.Seconds)
		wait = append(wait, s.WaitSeconds/s.Seconds)
		if s.Decision != "" && m.config(config).decides() {
			r.Decision[s.Decision]++
		}
	}
	r.Seconds, r.E, r.Wait = spread.Of(seconds), spread.Of(e), spread.Of(wait).Median
	return r
}

// Row returns the row of a kernel in a configuration.
func (m *Measurement) Row(kernel, config string) (Row, bool) {
	i := slices.IndexFunc(m.Rows, func(r Row) bool { return r.Kernel == kernel && r.Config == config })
	if i < 0 {
		return Row{}, false
	}
	return m.Rows[i], true
}
