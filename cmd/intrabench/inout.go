package main

import (
	"context"
	"errors"
	"io"

	"github.com/intrahpc/intra/cmd/intrabench/internal/inout"
)

func runInOut(ctx context.Context, args []string, out io.Writer) error {
	fs := newFlags("inout")
	var o inout.Options
	fs.IntVar(&o.Particles, "particles", 1<<18, "particles of the rank")
	fs.IntVar(&o.Sections, "sections", 6, "sections of each round")
	fs.IntVar(&o.Rounds, "rounds", 31, "how often every way is measured, in turn")
	jsonFile := fs.String("json", "", "write everything measured to `FILE`")
	if err := parse(fs, args); err != nil {
		return err
	}
	if o.Particles < 1 || o.Sections < 1 || o.Rounds < 1 {
		return errors.New("-particles, -sections and -rounds must be at least 1")
	}
	results, err := inout.Measure(ctx, o)
	if err != nil {
		return err
	}
	if err := inout.Table(out, o, results); err != nil {
		return err
	}
	if *jsonFile != "" {
		return writeJSON(*jsonFile, results)
	}
	return nil
}
