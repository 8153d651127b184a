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
	"github.com/intrahpc/intra/cmd/intrabench/internal/results"
)

// problemFlags defines the flags of the problem that HPCCG solves, and the number of
// rounds.
func problemFlags(fs *flag.FlagSet, pr *figures.Problem, rounds *int) {
	fs.IntVar(&pr.NX, "nx", 128, "points in x")
	fs.IntVar(&pr.NY, "ny", 128, "points in y")
	fs.IntVar(&pr.NZ, "nz", 128, "points in z of one rank that is not replicated; a replicated one has twice as many")
	fs.IntVar(&pr.Iters, "iters", 50, "one more than the passes of the solver")
	fs.IntVar(&pr.Tasks, "tasks", 0, "tasks of each section (default: the program's own)")
	fs.StringVar(&pr.Matrix, "matrix", "", "the `form` in which HPCCG holds the matrix, like csr (default: the program's own)")
	fs.BoolVar(&pr.Fused, "fused", false, "HPCCG computes inner products in the tasks that write their vectors")
	fs.IntVar(rounds, "rounds", 7, "how often every configuration runs, in turn")
}

func checkProblem(pr figures.Problem, rounds int) error {
	switch {
	case pr.NX < 1 || pr.NY < 1 || pr.NZ < 1:
		return errors.New("-nx, -ny and -nz must be at least 1")
	case pr.Iters < 2:
		return errors.New("-iters must be at least 2, for one pass")
	case pr.Tasks < 0:
		return errors.New("-tasks must not be negative")
	case rounds < 1:
		return errors.New("-rounds must be at least 1")
	}
	return nil
}

func runFigures(ctx context.Context, args []string, out io.Writer) error {
	fs := newFlags("figures")
	var pr figures.Problem
	var rounds int
	problemFlags(fs, &pr, &rounds)
	app := fs.String("app", figures.HPCCG, "`program` to run: hpccg, figure 5; gtc, figure 6c; hpcg, minighost, amg, npb or one of ep,cg,is,mg,ft,bt,sp, also several of these with commas, as a whole and by kernel. -nx -ny -nz are 48 by default for hpcg, 96 for minighost, 64 for amg, and -rounds is 5 for all of these")
	var gtc figures.GTCProblem
	gtcFlags(fs, &gtc)
	var o proxyOptions
	o.define(fs)
	steps := fs.Int("steps", 4, "gtc, minighost: time steps (default 4 and 20)")
	doubled := fs.Bool("double", false, "replicate on twice the cores of the native run, as figure 6 of the paper does, and not on the same ones; not for hpccg")
	limits := fs.String("limits", "", "also share over links of these `bandwidths`, like 0.5,1,2.5GB/s, and compare with the model and with what should be decided")
	list := fs.String("only", "", "run these `configurations` only, like native,auto or \"native at 3GB/s,send at 3GB/s\"; the first is what others are compared with")
	between := hostsFlag(fs)
	lag := fs.Duration("lag", 0, "also leave results where they were computed, with intrarun -lag `DURATION`, over each kind of link; a run should last at least ten times as long")
	numbers := jsonFlag(fs, args)
	plotFile := fs.String("plot", "", "draw the figures to `FILE`, .svg, .png or .pdf")
	quiet := quietFlag(fs)
	if err := parse(fs, args); err != nil {
		return err
	}
	names, err := apps(fs, *app)
	if err != nil {
		return err
	}
	if *lag < 0 {
		return errors.New("-lag must not be negative")
	}
	if *app != figures.HPCCG && *app != figures.GTC {
		o.points, o.steps, o.rounds, o.doubled, o.hosts = [3]int{pr.NX, pr.NY, pr.NZ}, *steps, rounds, *doubled, *between
		o.lag = *lag
		o.usual(fs)
		o.limits, o.json, o.plot, o.quiet = *limits, numbers, *plotFile, *quiet
		all, err := o.proxies(names)
		if err != nil {
			return err
		}
		return o.run(ctx, out, all...)
	}
	if err := checkProblem(pr, rounds); err != nil {
		return err
	}
	if *app == figures.GTC {
		gtc.Tasks, gtc.Steps = pr.Tasks, *steps
		o := gtcOptions{problem: gtc, rounds: rounds, doubled: *doubled, hosts: *between, lag: *lag, limits: *limits, only: *list, json: numbers, plot: *plotFile, quiet: *quiet}
		return runGTC(ctx, o, out)
	}
	configs := []figures.Config{figures.Native, figures.Replicated, figures.Static, figures.Send}
	if !*between { // without direct stores, this configuration equals Send
		configs = append(configs, figures.Auto)
	}
	configs = withKept(configs, *between, *lag)
	for _, l := range splitLimits(*limits) {
		c, err := figures.Limited(l)
		if err != nil {
			return err
		}
		configs = append(configs, limited(c, *between, *lag)...)
	}
	if configs, err = only(configs, *list); err != nil {
		return err
	}
	if *plotFile != "" {
		if err := figures.CheckPlotName(*plotFile); err != nil {
			return err
		}
	}
	programs, err := figures.Build(ctx, figures.HPCCG)
	if err != nil {
		return err
	}
	defer programs.Remove()
	remove, err := apart(programs, *between)
	if err != nil {
		return err
	}
	defer remove()
	m, err := figures.Measure(ctx, programs.Run, pr, rounds, configs, progress(*quiet, rounds))
	if err != nil {
		return err
	}
	printMachine(out)
	if err := m.Table(out); err != nil {
		return err
	}
	if *plotFile != "" {
		if err := m.Plot(*plotFile); err != nil {
			return err
		}
	}
	return numbers.write(m)
}

// only returns the configurations that a list names, in the order of the list. Without a list
// it returns all.
func only(all []figures.Config, list string) (some []figures.Config, err error) {
	if list == "" {
		return all, nil
	}
	var names []string
	for _, c := range all {
		names = append(names, c.Name)
	}
	for name := range strings.SplitSeq(list, ",") {
		i := slices.Index(names, name)
		if i < 0 {
			return nil, fmt.Errorf("-only %s: want some of %s", list, strings.Join(names, ","))
		}
		some = append(some, all[i])
	}
	for _, c := range some {
		if c.Base != "" && !slices.ContainsFunc(some, func(b figures.Config) bool { return b.Name == c.Base }) {
			return nil, fmt.Errorf("-only %s: %q is compared with %q, which is not in it", list, c.Name, c.Base)
		}
	}
	return some, nil
}

func printMachine(out io.Writer) { fmt.Fprintln(out, results.ThisMachine()) }

// progress returns a function that prints the present run to standard error, since a run takes
// minutes.
func progress(quiet bool, rounds int) func(int, figures.Config) {
	if quiet {
		return nil
	}
	return func(round int, c figures.Config) {
		fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, rounds, c.Name)
	}
}

// splitLimits splits a list of bandwidths. A bandwidth without a unit has the unit of the last
// one.
func splitLimits(list string) []string {
	if list == "" {
		return nil
	}
	all := strings.Split(list, ",")
	last := strings.TrimSpace(all[len(all)-1])
	unit := strings.TrimLeft(last, "0123456789.")
	for i, s := range all {
		all[i] = strings.TrimSpace(s)
		if strings.Trim(all[i], "0123456789.") == "" {
			all[i] += unit
		}
	}
	return all
}
