//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/cmd/intrabench/internal/figures"
	"github.com/intrahpc/intra/cmd/intrabench/internal/slow"
)

func runSlow(ctx context.Context, args []string, out io.Writer) error {
	fs := newFlags("slow")
	var o slow.Options
	fs.IntVar(&o.Factor, "factor", 2, "how many times as long one replica takes for a task")
	fs.DurationVar(&o.Task, "task", time.Millisecond, "what a task takes at full speed")
	fs.IntVar(&o.Sections, "sections", 15, "sections of each kind in each round")
	fs.IntVar(&o.Rounds, "rounds", 15, "how many jobs are run")
	numbers := jsonFlag(fs, args)
	quiet := quietFlag(fs)
	if err := parse(fs, args); err != nil {
		return err
	}
	if !*quiet {
		o.Before = func(round int) { tellRound("", round, o.Rounds) }
	}
	if o.Factor < 1 || o.Sections < 1 || o.Rounds < 1 || o.Task <= 0 {
		return errors.New("-factor, -task, -sections and -rounds must be positive")
	}
	programs, err := figures.BuildLauncher(ctx)
	if err != nil {
		return err
	}
	defer programs.Remove()
	run := func(ctx context.Context, o slow.Options, repeat int) (got slow.Outcome, err error) {
		return got, programs.Self(ctx, []string{"-r", "2"}, &got, slowJob.name, "-factor", strconv.Itoa(o.Factor),
			"-sections", strconv.Itoa(o.Sections), "-repeat", strconv.Itoa(repeat))
	}
	results, err := slow.Measure(ctx, run, o)
	if err != nil {
		return err
	}
	if err := slow.Table(out, o, results); err != nil {
		return err
	}
	return numbers.write(results)
}

// slowJob is the program that intrarun runs for slow.
var slowJob = command{name: "slow-job", run: func(_ context.Context, args []string, out io.Writer) error {
	fs := newFlags("slow-job")
	var o slow.Options
	fs.IntVar(&o.Factor, "factor", 2, "how many times as long one replica takes for a task")
	fs.IntVar(&o.Sections, "sections", 15, "sections of each kind")
	repeat := fs.Int("repeat", 1, "inner products of a task")
	if err := parse(fs, args); err != nil {
		return err
	}
	return inJob(out, func(p *intra.Process) (any, error) { return slow.Program(p, o, *repeat) })
}}

// inJob runs f as a process of a job and makes replica 0 print its result.
func inJob(out io.Writer, f func(p *intra.Process) (any, error)) error {
	intra.Main(func(p *intra.Process) error {
		v, err := f(p)
		if err != nil {
			return err
		}
		return json.NewEncoder(out).Encode(v)
	})
	return nil // not reached
}
