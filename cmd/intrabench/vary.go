//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/intrahpc/intra/cmd/intrabench/internal/figures"
	"github.com/intrahpc/intra/internal/head/runreport"
)

// runVary draws what a report of intrarun -vary says.
func runVary(_ context.Context, args []string, out io.Writer) error {
	fs := newFlags("vary")
	plot := fs.String("plot", "", "draw the digits over the safe points to `FILE`, .svg, .png or .pdf")
	if err := fs.Parse(args); err != nil {
		return usage(err)
	}
	switch {
	case fs.NArg() != 1:
		return errors.New("vary wants one report of intrarun -vary -report FILE: usage is intrabench vary [-plot FILE] REPORT")
	case *plot != "":
		if err := figures.CheckPlotName(*plot); err != nil {
			return err
		}
	}
	r, err := runreport.Read(fs.Arg(0))
	if err != nil {
		return err
	}
	if r.Vary == nil {
		return fmt.Errorf("%s has no vary: it is not of a job of intrarun -vary, or one in which nothing could be compared", fs.Arg(0))
	}
	if err := r.Vary.Print(out); err != nil || *plot == "" {
		return err
	}
	return figures.PlotVary(*plot, r.Vary)
}
