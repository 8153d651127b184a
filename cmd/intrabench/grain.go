//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/cmd/intrabench/internal/figures"
	"github.com/intrahpc/intra/cmd/intrabench/internal/grain"
)

func runGrain(ctx context.Context, args []string, out io.Writer) error {
	fs := newFlags("grain")
	var o grain.Options
	works := fs.String("work", "0.1us,0.3us,1us,3us,10us,30us,100us,300us,1ms,10ms", "work of a section, in ascending `sizes`")
	fs.IntVar(&o.Tasks, "tasks", 2, "tasks of a section")
	fs.IntVar(&o.Bytes, "bytes", 8, "bytes of results of a task, a multiple of 8")
	fs.DurationVar(&o.Time, "time", 50*time.Millisecond, "about how long the sections of each size take in each job")
	fs.IntVar(&o.Rounds, "rounds", 7, "how often every way is measured, in turn")
	peer := fs.String("peer", "", "also measure this `command`, such as the built peer/grain.c, in turn with the jobs")
	jsonFile := jsonFlag(fs, args)
	taskbench := fs.Bool("taskbench", false, "measure the patterns of examples/taskbench instead, of one rank, of two ranks and of two replicas")
	var graphs grain.GraphOptions
	fs.IntVar(&graphs.Width, "width", 16, "-taskbench: points of a step")
	iters := fs.String("iters", "1024,256,128,64,32,16,4", "-taskbench: iterations of a task, in descending order")
	plot := fs.String("plot", "", "draw the time that is work over the work of a core to `FILE` (.svg, .png, .pdf)")
	quiet := quietFlag(fs)
	if err := parse(fs, args); err != nil {
		return err
	}
	if *taskbench {
		graphs.Time, graphs.Rounds = o.Time, o.Rounds
		if !*quiet {
			graphs.Before = func(what string, round int) { tellRound(what, round, o.Rounds) }
		}
		return runTaskbench(ctx, fs, graphs, *iters, jsonFile, out)
	}
	if *plot != "" {
		if err := figures.CheckPlotName(*plot); err != nil {
			return err
		}
	}
	for s := range strings.SplitSeq(*works, ",") {
		d, err := time.ParseDuration(s)
		if n := len(o.Work); err != nil || d <= 0 || n > 0 && d.Seconds() <= o.Work[n-1] {
			return fmt.Errorf("-work %s: want durations in ascending order, like 1us,10us", *works)
		}
		o.Work = append(o.Work, d.Seconds())
	}
	if o.Tasks < 1 || o.Bytes < 8 || o.Bytes%8 != 0 || o.Rounds < 1 || o.Time <= 0 {
		return errors.New("-tasks, -time and -rounds must be positive, and -bytes a multiple of 8")
	}
	if !*quiet {
		o.Before = func(what string, round int) { tellRound(what, round, o.Rounds) }
	}
	programs, err := figures.BuildLauncher(ctx)
	if err != nil {
		return err
	}
	defer programs.Remove()
	run := func(ctx context.Context, w grain.Way, steps []grain.Step, o grain.Options) (got grain.Outcome, err error) {
		args := []string{grainJob.name, "-tasks", strconv.Itoa(o.Tasks), "-bytes", strconv.Itoa(o.Bytes), "-plain=" + strconv.FormatBool(w.Plain)}
		for _, st := range steps {
			args = append(args, st.String())
		}
		return got, programs.Self(ctx, w.Flags, &got, args...)
	}
	var beside grain.PeerRunner
	if *peer != "" {
		beside = func(ctx context.Context, threads int, o grain.Options) (plain, parallel []float64, err error) {
			return runPeer(ctx, strings.Fields(*peer), threads, o)
		}
	}
	results, err := grain.Measure(ctx, run, beside, o)
	if err != nil {
		return err
	}
	if err := grain.Table(out, o, results); err != nil {
		return err
	}
	if *plot != "" {
		if err := figures.PlotGrain(*plot, o, results); err != nil {
			return err
		}
	}
	return jsonFile.write(struct {
		Grain []grain.Summary `json:"grain"`
	}{grain.Summaries(o, results)})
}

// runTaskbench measures examples/taskbench.
func runTaskbench(ctx context.Context, fs *flag.FlagSet, o grain.GraphOptions, iters string, jsonFile *jsonFile, out io.Writer) error {
	var other error
	fs.Visit(func(f *flag.Flag) {
		if slices.Contains([]string{"work", "tasks", "bytes", "peer", "plot"}, f.Name) {
			other = fmt.Errorf("-%s is not for -taskbench", f.Name)
		}
	})
	if other != nil {
		return other
	}
	for s := range strings.SplitSeq(iters, ",") {
		n, err := strconv.Atoi(s)
		if k := len(o.Iters); err != nil || n < 1 || k > 0 && n >= o.Iters[k-1] {
			return fmt.Errorf("-iters %s: want numbers in descending order, like 100,10", iters)
		}
		o.Iters = append(o.Iters, n)
	}
	if o.Width < 1 || o.Rounds < 1 || o.Time <= 0 {
		return errors.New("-width, -time and -rounds must be positive")
	}
	programs, err := figures.Build(ctx, "taskbench")
	if err != nil {
		return err
	}
	defer programs.Remove()
	graphs, err := grain.MeasureGraphs(ctx, func(ctx context.Context, w grain.GraphWay, args ...string) (got grain.GraphRun, err error) {
		flags := []string{"-n", strconv.Itoa(w.Ranks), "-r", strconv.Itoa(w.Replicas)}
		return got, programs.Self(ctx, flags, &got, args...)
	}, o)
	if err != nil {
		return err
	}
	all := grain.GraphSummaries(o, graphs)
	if err := grain.GraphTable(out, o, all); err != nil {
		return err
	}
	return jsonFile.write(struct {
		Taskbench []grain.GraphSummary `json:"taskbench"`
	}{all})
}

// runPeer runs an outside program. For each size, that program prints the seconds of its plain
// loop and of its parallel one.
func runPeer(ctx context.Context, command []string, threads int, o grain.Options) (plain, parallel []float64, err error) {
	args := append(command[1:len(command):len(command)], strconv.Itoa(threads), strconv.Itoa(o.Tasks), strconv.Itoa(o.Bytes), fmt.Sprint(o.Time.Seconds()))
	for _, w := range o.Work {
		args = append(args, fmt.Sprint(w))
	}
	text, err := exec.CommandContext(ctx, command[0], args...).Output()
	if err != nil {
		return nil, nil, fmt.Errorf("run %s: %w", command[0], err)
	}
	for range o.Work {
		var line string
		line, rest, _ := strings.Cut(string(text), "\n")
		text = []byte(rest)
		var a, b float64
		if _, err := fmt.Sscan(line, &a, &b); err != nil || a <= 0 || b <= 0 {
			return nil, nil, fmt.Errorf("%s printed %q: want two times, of a plain and of a parallel loop", command[0], line)
		}
		plain, parallel = append(plain, a), append(parallel, b)
	}
	return plain, parallel, nil
}

// grainJob is the program that intrarun runs for grain.
var grainJob = command{name: "grain-job", run: func(_ context.Context, args []string, out io.Writer) error {
	fs := newFlags("grain-job")
	tasks := fs.Int("tasks", 2, "tasks of a section")
	bytes := fs.Int("bytes", 8, "bytes of results of a task")
	plain := fs.Bool("plain", false, "call the bodies without a section")
	if err := fs.Parse(args); err != nil {
		return errUsage
	}
	var steps []grain.Step
	for _, a := range fs.Args() {
		st, err := grain.ParseStep(a)
		if err != nil {
			return err
		}
		steps = append(steps, st)
	}
	intra.Main(func(p *intra.Process) error {
		got, err := grain.Program(p, steps, *tasks, *bytes, *plain)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(got)
	})
	return nil // not reached
}}
