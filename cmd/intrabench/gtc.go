//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/figures"
	"github.com/intrahpc/intra/cmd/intrabench/internal/inout"
)

// gtcOptions configures runGTC.
type gtcOptions struct {
	problem figures.GTCProblem
	rounds  int
	doubled bool
	hosts   bool
	lag     time.Duration
	limits  string
	only    string
	json    *jsonFile
	plot    string
	quiet   bool
}

// gtcFlags defines the flags that only GTC has.
func gtcFlags(fs *flag.FlagSet, pr *figures.GTCProblem) {
	fs.IntVar(&pr.IonsPerCell, "micell", 10, "gtc: ions for each point of the grid")
	fs.IntVar(&pr.Surfaces, "mpsi", 90, "gtc: radial cells; even")
	fs.IntVar(&pr.MaxTheta, "mthetamax", 640, "gtc: most poloidal points")
	fs.IntVar(&pr.MaxZeta, "mzetamax", 2, "gtc: toroidal planes; even")
}

// check checks the options, and returns the configurations.
func (o gtcOptions) check() ([]figures.Config, error) {
	if err := checkGTC(o.problem); err != nil {
		return nil, err
	}
	if o.plot != "" {
		if err := figures.CheckPlotName(o.plot); err != nil {
			return nil, err
		}
	}
	if o.doubled && o.hosts {
		return nil, errors.New("-hosts is not for -double: each of the two hosts has one process")
	}
	var overLinks []figures.Config
	for _, l := range splitLimits(o.limits) {
		c, err := figures.Throttled(l)
		if err != nil {
			return nil, err
		}
		overLinks = append(overLinks, limited(c, o.hosts, o.lag)...)
	}
	configs := figures.GTCConfigs(o.doubled)
	if o.hosts { // without direct stores, this configuration equals Send
		configs = slices.DeleteFunc(configs, func(c figures.Config) bool { return c.Name == figures.Auto.Name })
	}
	configs = append(withKept(configs, o.hosts, o.lag), overLinks...)
	return only(configs, o.only)
}

func checkGTC(pr figures.GTCProblem) error {
	switch {
	case pr.IonsPerCell < 1 || pr.MaxTheta < 1 || pr.Steps < 1:
		return errors.New("-micell, -mthetamax and -steps must be at least 1")
	case pr.Surfaces < 10 || pr.Surfaces%2 != 0:
		return errors.New("-mpsi must be even and at least 10")
	case pr.MaxZeta < 2 || pr.MaxZeta%2 != 0:
		return errors.New("-mzetamax must be even and at least 2, for two ranks")
	}
	return nil
}

// runGTC measures figure 6c. It measures the copies of inout variables by themselves, since a
// run of GTC cannot separate them from the rest of receiving.
func runGTC(ctx context.Context, o gtcOptions, out io.Writer) error {
	configs, err := o.check()
	if err != nil {
		return err
	}
	programs, err := figures.Build(ctx, figures.GTC)
	if err != nil {
		return err
	}
	defer programs.Remove()
	remove, err := apart(programs, o.hosts)
	if err != nil {
		return err
	}
	defer remove()
	m, err := figures.MeasureGTC(ctx, programs.RunGTC, o.problem, o.rounds, o.doubled, configs, progress(o.quiet, o.rounds))
	if err != nil {
		return err
	}
	if m.InOut, err = inout.Measure(ctx, inout.Options{Particles: 1 << 18, Sections: 6, Rounds: o.rounds}); err != nil {
		return fmt.Errorf("measure the copies of inout variables: %w", err)
	}
	printMachine(out)
	if err := m.Table(out, runtime.NumCPU()); err != nil {
		return err
	}
	if o.plot != "" {
		if err := m.Plot(o.plot); err != nil {
			return err
		}
	}
	return o.json.write(m)
}
