//go:build linux

package main

import (
	"context"
	"errors"
	"io"

	"github.com/intrahpc/intra/cmd/intrabench/internal/figures"
	"github.com/intrahpc/intra/internal/vary"
)

// runVary plots a report of intravary.
func runVary(_ context.Context, args []string, out io.Writer) error {
	fs := newFlags("vary")
	plot := fs.String("plot", "", "draw the digits over the safe points to `FILE`, .svg, .png or .pdf")
	if err := fs.Parse(args); err != nil {
		return usage(err)
	}
	switch {
	case fs.NArg() != 1:
		return errors.New("vary wants one report of intravary -report FILE: usage is intrabench vary [-plot FILE] REPORT")
	case *plot != "":
		if err := figures.CheckPlotName(*plot); err != nil {
			return err
		}
	}
	r, err := vary.ReadResult(fs.Arg(0))
	if err != nil {
		return err
	}
	if err := r.Print(out); err != nil || *plot == "" {
		return err
	}
	return figures.PlotVary(*plot, r)
}
