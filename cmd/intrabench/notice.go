//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/cmd/intrabench/internal/figures"
	"github.com/intrahpc/intra/cmd/intrabench/internal/notice"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// runNotice measures the cost of hosts that leave or join while a job runs.
func runNotice(ctx context.Context, args []string, out io.Writer) error {
	fs := newFlags("notice")
	var o notice.Options
	sizes := fs.String("size", "1,100,1000", "MB of state of the process that moves, separated by commas; empty: none moves")
	fs.IntVar(&o.Moves, "moves", 20, "how often it moves, for each size")
	fs.IntVar(&o.Rounds, "rounds", 10, "how often a host joins a job; 0: not at all")
	plot := fs.String("plot", "", "draw the speed of the job that a host joins to `FILE`, .svg, .png or .pdf")
	numbers := jsonFlag(fs, args)
	quiet := quietFlag(fs)
	if err := parse(fs, args); err != nil {
		return err
	}
	for word := range strings.SplitSeq(*sizes, ",") {
		if *sizes == "" {
			break
		}
		mb, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || mb < 1 {
			return fmt.Errorf("-size %s: %q is not a number of MB, want numbers from 1 like 1,100", *sizes, word)
		}
		o.Sizes = append(o.Sizes, mb*1e6)
	}
	switch {
	case o.Moves < 1 || o.Rounds < 0:
		return errors.New("-moves must be positive, and -rounds must not be negative")
	case len(o.Sizes) == 0 && o.Rounds == 0:
		return errors.New("-size '' and -rounds 0: there is nothing to measure")
	case *plot != "" && o.Rounds == 0:
		return errors.New("-plot draws the job that a host joins: give -rounds 1 or more")
	}
	if *plot != "" {
		if err := figures.CheckPlotName(*plot); err != nil {
			return err
		}
	}
	if !*quiet {
		o.Before = func(what string) { fmt.Fprintln(os.Stderr, what) }
	}
	lab := new(notice.Lab)
	err := lab.Open()
	if errors.Is(err, netns.ErrUnsupported) {
		return fmt.Errorf("%w: run intrabench notice as root on Linux with iproute2", err)
	}
	if err != nil {
		return err
	}
	defer lab.Close()
	programs, err := figures.BuildLauncher(ctx)
	if err != nil {
		return err
	}
	defer programs.Remove()
	lab.Intrarun, lab.Sharer = programs.Intrarun, []string{programs.App, noticeSharer.name}
	lab.Mover = func(bytes int) []string {
		return []string{programs.App, noticeMover.name, "-bytes", strconv.Itoa(bytes)}
	}
	m, err := notice.Measure(ctx, lab, o)
	if err != nil {
		return err
	}
	printMachine(out)
	fmt.Fprintln(out)
	if err := m.Table(out); err != nil {
		return err
	}
	if *plot != "" {
		if err := figures.PlotJoin(*plot, m.Join); err != nil {
			return err
		}
	}
	return numbers.write(m)
}

// noticeMover runs the program whose process moves.
var noticeMover = command{name: "notice-mover", run: func(_ context.Context, args []string, out io.Writer) error {
	fs := newFlags("notice-mover")
	bytes := fs.Int("bytes", 8, "bytes of state")
	if err := parse(fs, args); err != nil {
		return err
	}
	intra.Main(func(p *intra.Process) error { return notice.Mover(p, *bytes, out) })
	return nil // not reached
}}

// noticeSharer runs the program of the job that a host joins.
var noticeSharer = command{name: "notice-sharer", run: func(_ context.Context, args []string, out io.Writer) error {
	if err := parse(newFlags("notice-sharer"), args); err != nil {
		return err
	}
	intra.Main(func(p *intra.Process) error { return notice.Sharer(p, out) })
	return nil // not reached
}}
