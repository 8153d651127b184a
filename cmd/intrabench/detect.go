//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/cmd/intrabench/internal/detection"
	"github.com/intrahpc/intra/internal/launch"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// runDetect measures how soon losses are handled, and the cost of detection.
func runDetect(ctx context.Context, args []string, out io.Writer) error {
	fs := newFlags("detect")
	var o detection.Options
	fs.IntVar(&o.Rounds, "rounds", 10, "how often each loss happens, in turn; 0: no loss")
	fs.IntVar(&o.Runs, "runs", 5, "how often the job runs without a loss, each way in turn; 0: not at all")
	fs.DurationVar(&o.Time, "time", 5*time.Second, "about how long such a run takes")
	fs.IntVar(&o.Rarer, "rarer", 10, "how many `times` rarer beats are in the runs to compare with, 2 to 20")
	numbers := jsonFlag(fs, args)
	quiet := quietFlag(fs)
	if err := parse(fs, args); err != nil {
		return err
	}
	switch {
	case o.Rounds < 0 || o.Runs < 0 || o.Time <= 0:
		return errors.New("-rounds and -runs must not be negative, -time must be positive")
	case o.Rounds+o.Runs == 0:
		return errors.New("-rounds 0 and -runs 0: there is nothing to measure")
	case o.Rarer < 2 || o.Rarer > 20: // nodes wait at most 10 s for their first lease
		return fmt.Errorf("-rarer %d: want 2 to 20", o.Rarer)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	lab, err := detection.NewLab(self)
	if errors.Is(err, netns.ErrUnsupported) {
		return fmt.Errorf("%w: run intrabench detect as root on Linux with iproute2", err)
	}
	if err != nil {
		return err
	}
	defer lab.Close()
	if !*quiet {
		o.Before = func(what string) { fmt.Fprintln(os.Stderr, what) }
	}
	m, err := detection.Measure(ctx, lab, o)
	if err != nil {
		return err
	}
	printMachine(out)
	fmt.Fprintln(out)
	if err := m.Table(out); err != nil {
		return err
	}
	return numbers.write(m)
}

// detectHead runs the jobs of detect: it is a launcher with an additional option.
var detectHead = command{name: detection.HeadCommand, run: func(ctx context.Context, args []string, _ io.Writer) error {
	fs := newFlags(detection.HeadCommand)
	var h detection.Head
	fs.StringVar(&h.Hosts, "hosts", "", "where the processes run")
	fs.StringVar(&h.Report, "report", "", "file for the report")
	fs.IntVar(&h.Rarer, "rarer", 1, "how many times rarer beats are")
	if err := fs.Parse(args); err != nil {
		return errUsage
	}
	h.Program = fs.Args()
	code, err := h.Run(ctx)
	if err == nil {
		os.Exit(code)
	}
	return err
}}

// detectAgent runs the agent of a host for a job of detect.
var detectAgent = command{name: detection.AgentCommand, run: func(context.Context, []string, io.Writer) error {
	return launch.Serve(context.Background(), os.Stdin, []string{"/proc/self/exe"}, nil)
}}

// detectJob is the program that the jobs of detect run.
var detectJob = command{name: detection.ProgramCommand, run: func(_ context.Context, args []string, out io.Writer) error {
	fs := newFlags(detection.ProgramCommand)
	passes := fs.Int("passes", 0, "number of passes; 0: it does not end by itself")
	if err := parse(fs, args); err != nil {
		return err
	}
	intra.Main(func(p *intra.Process) error {
		o, err := detection.Program(p, *passes)
		if err == nil && p.Rank() == 0 {
			err = json.NewEncoder(out).Encode(o)
		}
		return err
	})
	return nil // not reached
}}
