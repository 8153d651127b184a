package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/slow"
)

func runSlow(ctx context.Context, args []string, out io.Writer) error {
	fs := newFlags("slow")
	var o slow.Options
	fs.IntVar(&o.Factor, "factor", 2, "how many times as long one replica takes for a task")
	fs.DurationVar(&o.Task, "task", time.Millisecond, "what a task takes at full speed")
	fs.IntVar(&o.Sections, "sections", 5, "sections of each round")
	fs.IntVar(&o.Rounds, "rounds", 15, "how often every way is measured, in turn")
	jsonFile := fs.String("json", "", "write everything measured to `FILE`")
	if err := parse(fs, args); err != nil {
		return err
	}
	if o.Factor < 1 || o.Sections < 1 || o.Rounds < 1 || o.Task <= 0 {
		return errors.New("-factor, -task, -sections and -rounds must be positive")
	}
	results, err := slow.Measure(ctx, o)
	if err != nil {
		return err
	}
	if err := slow.Table(out, o, results); err != nil {
		return err
	}
	if *jsonFile != "" {
		return writeJSON(*jsonFile, results)
	}
	return nil
}
