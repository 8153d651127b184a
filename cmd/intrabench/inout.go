//go:build linux

package main

import (
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/cmd/intrabench/internal/figures"
	"github.com/intrahpc/intra/cmd/intrabench/internal/inout"
)

func runInOut(ctx context.Context, args []string, out io.Writer) error {
	fs := newFlags("inout")
	var o inout.Options
	fs.IntVar(&o.Particles, "particles", 1<<18, "particles of the rank")
	fs.IntVar(&o.Sections, "sections", 15, "sections of each kind in each round")
	fs.IntVar(&o.Rounds, "rounds", 15, "how often every way is measured, in turn")
	numbers := jsonFlag(fs, args)
	quiet := quietFlag(fs)
	if err := parse(fs, args); err != nil {
		return err
	}
	if !*quiet {
		o.Before = func(what string, round int) { tellRound(what, round, o.Rounds) }
	}
	if o.Particles < 1 || o.Sections < 1 || o.Rounds < 1 {
		return errors.New("-particles, -sections and -rounds must be at least 1")
	}
	programs, err := figures.BuildLauncher(ctx)
	if err != nil {
		return err
	}
	defer programs.Remove()
	processes, err := inout.MeasureProcesses(ctx, func(ctx context.Context, c inout.Case, o inout.Options) (got inout.Outcome, err error) {
		flags := []string{"-r", "2"}
		if c.Ring != "" {
			flags = append(flags, "-ring", c.Ring)
		}
		return got, programs.Self(ctx, flags, &got, inoutJob.name,
			"-particles", strconv.Itoa(o.Particles), "-sections", strconv.Itoa(o.Sections))
	}, o)
	if err != nil {
		return err
	}
	if err := inout.ProcessTable(out, o, processes); err != nil {
		return err
	}
	results, err := inout.Measure(ctx, o)
	if err != nil {
		return err
	}
	if err := inout.Table(out, o, results); err != nil {
		return err
	}
	return numbers.write(map[string]any{"processes": processes, "in_process": results})
}

// inoutJob is the program that intrarun runs for inout.
var inoutJob = command{name: "inout-job", run: func(_ context.Context, args []string, out io.Writer) error {
	fs := newFlags("inout-job")
	var o inout.Options
	fs.IntVar(&o.Particles, "particles", 1<<18, "particles of the rank")
	fs.IntVar(&o.Sections, "sections", 15, "sections of each kind")
	if err := parse(fs, args); err != nil {
		return err
	}
	return inJob(out, func(p *intra.Process) (any, error) { return inout.Program(p, o) })
}}
