//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/cmd/intrabench/internal/figures"
	"github.com/intrahpc/intra/cmd/intrabench/internal/scale"
)

func runScale(ctx context.Context, args []string, out io.Writer) error {
	fs := newFlags("scale")
	var o scale.Options
	sizes := fs.String("processes", "16,64,256", "processes of each job, separated by commas")
	fs.IntVar(&o.Degree, "r", 2, "replicas of a rank")
	fs.IntVar(&o.Messages, "messages", 100, "messages and sums of which the mean is taken")
	fs.DurationVar(&o.Rest, "rest", 10*time.Second, "how long a job rests; it is watched for half of it")
	intrarun := fs.String("intrarun", "", "run `FILE` in place of the intrarun of this module")
	plot := fs.String("plot", "", "draw the table to `FILE`, .svg, .png or .pdf")
	numbers := jsonFlag(fs, args)
	if err := parse(fs, args); err != nil {
		return err
	}
	if o.Degree < 1 || o.Messages < 1 || o.Rest < time.Second {
		return fmt.Errorf("-r and -messages must be positive, and -rest at least 1s")
	}
	for _, word := range strings.Split(*sizes, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 2*o.Degree || n%o.Degree != 0 {
			return fmt.Errorf("-processes %s: %q is no multiple of %d replicas with two ranks or more", *sizes, word, o.Degree)
		}
		o.Sizes = append(o.Sizes, n)
	}
	if *plot != "" {
		if err := figures.CheckPlotName(*plot); err != nil {
			return err
		}
	}
	programs, err := figures.BuildLauncher(ctx)
	if err != nil {
		return err
	}
	defer programs.Remove()
	if *intrarun == "" {
		*intrarun = programs.Intrarun
	}
	rows, err := scale.Measure(ctx, scale.Programs{Intrarun: *intrarun, Job: []string{programs.App, scaleJob.name}}, o, os.Stderr)
	if err != nil {
		return err
	}
	if err := scale.Table(out, o, rows); err != nil {
		return err
	}
	if *plot != "" {
		if err := figures.PlotScale(*plot, rows); err != nil {
			return err
		}
	}
	return numbers.write(rows)
}

// scaleJob is the program that intrarun runs for scale.
var scaleJob = command{name: "scale-job", run: func(_ context.Context, args []string, out io.Writer) error {
	fs := newFlags("scale-job")
	messages := fs.Int("messages", 1, "messages of each kind")
	rest := fs.Duration("rest", 0, "how long rank 0 rests")
	if err := parse(fs, args); err != nil {
		return err
	}
	intra.Main(func(p *intra.Process) error { return scale.Program(p, *messages, *rest, out) })
	return nil // not reached
}}
