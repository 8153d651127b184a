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

	"github.com/intrahpc/intra/cmd/intrabench/internal/figures"
)

// npbNames are the NAS benchmarks that there are.
var npbNames = []string{"ep", "cg", "is", "mg", "ft", "bt", "sp"}

// proxyNames are all programs.
var proxyNames = append(slices.Clone(npbNames), "hpcg", "minighost", "amg")

// proxyFlags are what the measurements of the examples have in common.
type proxyFlags struct {
	rounds     int
	doubled    bool
	hosts      *bool
	limits     string
	json, plot string
	quiet      bool
}

func newProxyFlags(name string) (*flag.FlagSet, *proxyFlags) {
	fs, f := newFlags(name), &proxyFlags{}
	fs.IntVar(&f.rounds, "rounds", 5, "how often every configuration runs, in turn")
	fs.BoolVar(&f.doubled, "double", false, "replicate on twice the cores of the native run, as figure 6 of the paper does, and not on the same ones")
	fs.StringVar(&f.limits, "limits", "", "also share over links of these `bandwidths`, like 1.2,3GB/s, and compare with what should be decided")
	f.hosts = hostsFlag(fs)
	fs.StringVar(&f.json, "json", "", "write everything measured to `FILE`")
	fs.StringVar(&f.plot, "plot", "", "draw times and efficiencies to `FILE`, .svg, .png or .pdf")
	fs.BoolVar(&f.quiet, "quiet", false, "do not tell on standard error what runs now")
	return fs, f
}

// boxFlags define the points of a rank of the native run.
func boxFlags(fs *flag.FlagSet, edge int) *[3]int {
	var n [3]int
	for d, axis := range []string{"x", "y", "z"} {
		fs.IntVar(&n[d], "n"+axis, edge, "points in "+axis+" of a native rank; one that is replicated on the same cores has twice as many in x")
	}
	return &n
}

// check returns the configurations.
func (f *proxyFlags) check() ([]figures.Config, error) {
	if f.rounds < 1 {
		return nil, errors.New("-rounds must be at least 1")
	}
	if f.plot != "" {
		if err := figures.CheckPlotName(f.plot); err != nil {
			return nil, err
		}
	}
	if f.doubled && *f.hosts {
		return nil, errors.New("-hosts is not for -double, whose native run has one process")
	}
	configs := figures.ProxyConfigs(f.doubled)
	if *f.hosts { // where nothing can be stored
		configs = slices.DeleteFunc(configs, func(c figures.Config) bool { return c.Name == figures.Stored.Name })
	}
	if f.limits != "" { // what all updates are
		configs = append(configs, figures.Static)
	}
	for _, l := range splitLimits(f.limits) {
		c, err := figures.Throttled(l)
		if err != nil {
			return nil, err
		}
		configs = append(configs, limited(c, *f.hosts)...)
	}
	return configs, nil
}

// run measures programs and writes what it finds.
func (f *proxyFlags) run(ctx context.Context, out io.Writer, proxies ...figures.Proxy) error {
	configs, err := f.check()
	if err != nil {
		return err
	}
	programs, err := figures.BuildProxies(ctx, proxies...)
	if err != nil {
		return err
	}
	defer programs.Remove()
	remove, err := apart(programs, *f.hosts)
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
	if f.json != "" {
		return writeJSON(f.json, all)
	}
	return nil
}

// tell is progress for one of several programs.
func tell(quiet bool, program string, rounds int) func(int, figures.Config) {
	if quiet {
		return nil
	}
	return func(round int, c figures.Config) {
		fmt.Fprintf(os.Stderr, "%s, round %d of %d: %s\n", program, round+1, rounds, c.Name)
	}
}

// parseNames reads a list of names, each of which has to be one of those.
func parseNames(flag, list string, of []string) ([]string, error) {
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(of, name) {
			return nil, fmt.Errorf("-%s %s: want some of %s", flag, list, strings.Join(of, ","))
		}
	}
	return names, nil
}

func runNPB(ctx context.Context, args []string, out io.Writer) error {
	fs, f := newProxyFlags("npb")
	class := fs.String("class", "A", "size of the problem: S, W, A, B or C")
	list := fs.String("programs", strings.Join(npbNames, ","), "`names` of benchmarks, comma-separated")
	if err := parse(fs, args); err != nil {
		return err
	}
	all, err := npb(*class, *list)
	if err != nil {
		return err
	}
	return f.run(ctx, out, all...)
}

// npb lists the benchmarks of a class.
func npb(class, list string) (all []figures.Proxy, err error) {
	if len(class) != 1 || !strings.Contains("SWABC", class) {
		return nil, fmt.Errorf("-class %s: want S, W, A, B or C", class)
	}
	names, err := parseNames("programs", list, npbNames)
	for _, name := range names {
		all = append(all, figures.NPB(name, class))
	}
	return all, err
}

func runHPCG(ctx context.Context, args []string, out io.Writer) error {
	fs, f := newProxyFlags("hpcg")
	n := boxFlags(fs, 48)
	sets := fs.Int("sets", 1, "sets of iterations")
	if err := parse(fs, args); err != nil {
		return err
	}
	return f.run(ctx, out, figures.HPCG(*n, *sets))
}

func runMiniGhost(ctx context.Context, args []string, out io.Writer) error {
	fs, f := newProxyFlags("minighost")
	n := boxFlags(fs, 96)
	stencil := fs.String("stencil", "3d27", "points that are averaged: 2d5, 2d9, 3d7 or 3d27")
	vars := fs.Int("vars", 5, "grids")
	steps := fs.Int("steps", 20, "time steps")
	if err := parse(fs, args); err != nil {
		return err
	}
	return f.run(ctx, out, figures.MiniGhost(*stencil, *n, *vars, *steps))
}

func runAMG(ctx context.Context, args []string, out io.Writer) error {
	fs, f := newProxyFlags("amg")
	n := boxFlags(fs, 64)
	problem := fs.String("problem", "27pt", "5pt, 7pt or 27pt")
	solver := fs.String("solver", "pcg", "pcg or gmres")
	if err := parse(fs, args); err != nil {
		return err
	}
	return f.run(ctx, out, figures.AMG(*problem, *solver, *n))
}
