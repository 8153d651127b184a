//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/figures"
)

// npbNames are the available NAS benchmarks.
var npbNames = []string{"ep", "cg", "is", "mg", "ft", "bt", "sp"}

// proxyNames are all programs.
var proxyNames = append(slices.Clone(npbNames), "hpcg", "minighost", "amg")

// proxyOptions configures the measurement of one of proxyNames, or of all NAS benchmarks
// (npb).
type proxyOptions struct {
	points                          [3]int // points of a native rank; 0: the usual number for the program
	class, stencil, problem, solver string
	vars, sets, steps               int
	rounds                          int
	doubled, hosts                  bool
	lag                             time.Duration
	limits                          string
	json                            *jsonFile
	plot                            string
	quiet                           bool
}

// define defines the flags that only these programs have.
func (f *proxyOptions) define(fs *flag.FlagSet) {
	fs.StringVar(&f.class, "class", "A", "npb: size of the problem: S, W, A, B or C")
	fs.IntVar(&f.sets, "sets", 1, "hpcg: sets of iterations")
	fs.StringVar(&f.stencil, "stencil", "3d27", "minighost: points that are averaged: 2d5, 2d9, 3d7 or 3d27")
	fs.IntVar(&f.vars, "vars", 5, "minighost: grids")
	fs.StringVar(&f.problem, "problem", "27pt", "amg: 5pt, 7pt or 27pt")
	fs.StringVar(&f.solver, "solver", "pcg", "amg: pcg or gmres")
}

// proxies returns the programs that a list names.
func (f *proxyOptions) proxies(list []string) (all []figures.Proxy, err error) {
	for _, name := range list {
		switch name {
		case "hpcg":
			all = append(all, figures.HPCG(f.box(48), f.sets))
		case "minighost":
			all = append(all, figures.MiniGhost(f.stencil, f.box(96), f.vars, f.steps))
		case "amg":
			all = append(all, figures.AMG(f.problem, f.solver, f.box(64)))
		default:
			some, err := npb(f.class, name)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
	}
	return all, nil
}

// check returns the configurations.
func (f *proxyOptions) check() ([]figures.Config, error) {
	if f.rounds < 1 {
		return nil, errors.New("-rounds must be at least 1")
	}
	if f.plot != "" {
		if err := figures.CheckPlotName(f.plot); err != nil {
			return nil, err
		}
	}
	if f.doubled && f.hosts {
		return nil, errors.New("-hosts is not for -double, whose native run has one process")
	}
	configs := figures.ProxyConfigs(f.doubled)
	if f.hosts { // between hosts no stores are possible
		configs = slices.DeleteFunc(configs, func(c figures.Config) bool { return c.Name == figures.Stored.Name })
	}
	configs = withKept(configs, f.hosts, f.lag)
	if f.limits != "" { // static gives the size of all updates
		configs = append(configs, figures.Static)
	}
	for _, l := range splitLimits(f.limits) {
		c, err := figures.Throttled(l)
		if err != nil {
			return nil, err
		}
		configs = append(configs, limited(c, f.hosts, f.lag)...)
	}
	return configs, nil
}

// run measures programs and writes the results.
func (f *proxyOptions) run(ctx context.Context, out io.Writer, proxies ...figures.Proxy) error {
	configs, err := f.check()
	if err != nil {
		return err
	}
	programs, err := figures.BuildProxies(ctx, proxies...)
	if err != nil {
		return err
	}
	defer programs.Remove()
	remove, err := apart(programs, f.hosts)
	if err != nil {
		return err
	}
	defer remove()
	var all []*figures.ProxyMeasurement
	for _, x := range proxies {
		m, err := figures.MeasureProxy(ctx, programs.RunProxy, x, f.rounds, configs, tell(f.quiet, x.Name, f.rounds))
		if err != nil {
			return err
		}
		all = append(all, m)
	}
	printMachine(out)
	if err := figures.Tables(out, all); err != nil {
		return err
	}
	if f.plot != "" {
		if err := figures.PlotProxies(f.plot, all); err != nil {
			return err
		}
	}
	return f.json.write(all)
}

// tell returns a function that prints progress for one of several programs.
func tell(quiet bool, program string, rounds int) func(int, figures.Config) {
	if quiet {
		return nil
	}
	return func(round int, c figures.Config) {
		fmt.Fprintf(os.Stderr, "%s, round %d of %d: %s\n", program, round+1, rounds, c.Name)
	}
}

// parseNames parses a list of names. Each name must be in of.
func parseNames(flag, list string, of []string) ([]string, error) {
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(of, name) {
			return nil, fmt.Errorf("-%s %s: want some of %s", flag, list, strings.Join(of, ","))
		}
	}
	return names, nil
}

// npb returns the benchmarks in a list, in a class; the name npb stands for all benchmarks.
func npb(class, list string) (all []figures.Proxy, err error) {
	if list == "npb" {
		list = strings.Join(npbNames, ",")
	}
	if len(class) != 1 || !strings.Contains("SWABC", class) {
		return nil, fmt.Errorf("-class %s: want S, W, A, B or C", class)
	}
	names, err := parseNames("app", list, npbNames)
	for _, name := range names {
		all = append(all, figures.NPB(name, class))
	}
	return all, err
}
