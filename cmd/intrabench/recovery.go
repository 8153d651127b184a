//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/figures"
	"github.com/intrahpc/intra/cmd/intrabench/internal/messages"
	"github.com/intrahpc/intra/cmd/intrabench/internal/recoverybench"
	"github.com/intrahpc/intra/internal/job"
)

// runRecovery measures how a job recovers from failures, and the cost of being prepared for
// them.
func runRecovery(ctx context.Context, args []string, out io.Writer) error {
	fs := newFlags("recovery")
	o := recoverybench.Options{NZ: []int{64, 128, 256}, Every: []uint64{1, 5, 10}}
	fs.IntVar(&o.NX, "nx", 64, "points in x")
	fs.IntVar(&o.NY, "ny", 64, "points in y")
	fs.Func("nz", "points in z of a rank, one `number` for each size of state (default 64,128,256); costs are\nmeasured with the first", func(s string) (err error) {
		o.NZ, err = parseSizes(s)
		return err
	})
	fs.DurationVar(&o.Time, "time", 2*time.Second, "about how long a run without failures takes")
	fs.IntVar(&o.Rounds, "rounds", 5, "how often everything runs, in turn")
	fs.IntVar(&o.Failures, "failures", 3, "largest number of failures in a run")
	numbers := jsonFlag(fs, args)
	quiet := quietFlag(fs)
	if err := parse(fs, args); err != nil {
		return err
	}
	if o.NX < 1 || o.NY < 1 || o.Rounds < 1 || o.Failures < 1 || o.Time <= 0 {
		return errors.New("-nx, -ny, -rounds, -failures and -time must be positive")
	}
	programs, err := figures.Build(ctx, figures.HPCCG)
	if err != nil {
		return err
	}
	defer programs.Remove()
	p := recoverybench.Programs{Intrarun: programs.Intrarun, HPCCG: programs.App, Dir: filepath.Dir(programs.App)}
	if !*quiet {
		o.Before = func(what string) { fmt.Fprintln(os.Stderr, what) }
	}
	o.Bandwidth = linkBandwidth
	m, err := recoverybench.Measure(ctx, p.Run, o)
	if err != nil {
		return err
	}
	printMachine(out)
	fmt.Fprintf(out, "%d rounds in alternation\n\n", o.Rounds)
	if err := m.Table(out); err != nil {
		return err
	}
	return numbers.write(m)
}

// linkBandwidth measures the bandwidth of a shared-memory link, in bytes per second.
func linkBandwidth(ctx context.Context) (float64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find the executable of the processes: %w", err)
	}
	const bytes = 8 << 20
	results, err := messages.Measure(ctx, messages.Options{
		Links: []string{job.LinkSHM}, Degrees: [][]int{{1, 1}}, Cases: []messages.Case{{Op: messages.Pingpong, N: bytes}},
		Rounds: 1, Time: 100 * time.Millisecond, Program: []string{self, asRank},
	}, nil)
	if err != nil {
		return 0, err
	}
	return bytes / results[0].Median, nil
}

// parseSizes parses a list like "64,128".
func parseSizes(s string) ([]int, error) {
	var all []int
	for f := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(f))
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%q is not a number of points, want numbers from 1 like 64,128", f)
		}
		all = append(all, n)
	}
	return all, nil
}
