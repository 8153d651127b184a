package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/agent/watchdog"
	"github.com/intrahpc/intra/internal/base/wholefile"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/vary"
)

// sets runs a program several times, one set of processes after the other.
type sets struct {
	config   *Config
	program  *spawn.Program
	watchdog *watchdog.Watchdog
	dir      string            // of what the processes record
	report   *runreport.Report // of the undisturbed set; nil: it has not begun
}

// runSets runs the sets of -vary, writes the report to a file, and returns the exit code.
func runSets(ctx context.Context, c *Config, program *spawn.Program, w *watchdog.Watchdog, to *wholefile.File) int {
	dir, err := os.MkdirTemp("", "intra-vary-")
	if err != nil {
		fmt.Fprintln(c.Stderr, "intrarun: -vary: make room for the values of variables:", err)
		return ExitRefused
	}
	w.Folder(dir)
	defer os.RemoveAll(dir)
	s := &sets{config: c, program: program, watchdog: w, dir: dir}
	code, err := s.run(ctx)
	if err != nil {
		fmt.Fprintln(c.Stderr, "intrarun: -vary:", err)
	}
	if s.report == nil {
		return code
	}
	if s.report.ExitCode = code; err != nil {
		s.report.Error = "-vary: " + err.Error()
	}
	if c.Report == "" {
		return code
	}
	err = c.writeReport(s.report, to, func(format string, args ...any) { fmt.Fprintf(c.Stderr, format+"\n", args...) })
	if err != nil {
		fmt.Fprintln(c.Stderr, "intrarun:", err)
		return max(code, ExitFailed)
	}
	return code
}

// run runs all sets and compares them. It returns the first exit code that is not 0, and
// what there is to say of it that was not said. Without an undisturbed set, or after an
// interrupt, there is nothing to compare.
func (s *sets) run(ctx context.Context) (code int, err error) {
	c := s.config
	if code = s.runOne(ctx, 0, c.Stdout); code != ExitOK {
		return code, nil
	}
	codes := make([]int, c.Vary.Sets-1)
	for i := range codes {
		one := s.runOne(ctx, i+1, io.Discard)
		switch {
		case one >= interrupted:
			return one, fmt.Errorf("interrupted in set %d", i+1)
		case one != ExitOK:
			err = fmt.Errorf("set %d, which was disturbed, ended with exit code %d", i+1, one)
		}
		if codes[i] = one; code == ExitOK {
			code = one
		}
	}
	result, wrong := s.judge(codes)
	if wrong != nil {
		return max(code, ExitFailed), errors.Join(err, wrong)
	}
	if s.report.Vary = result; !c.Quiet {
		var table bytes.Buffer
		_ = result.Print(&table) // a buffer takes everything
		if _, wrong := c.Stderr.Write(table.Bytes()); wrong != nil {
			return max(code, ExitFailed), errors.Join(err, fmt.Errorf("show the comparison: %w", wrong))
		}
	}
	return code, err
}

// interrupted is the first exit code of jobs that a signal has ended.
const interrupted = 128

// runOne runs a set. Of a disturbed one only errors are shown.
func (s *sets) runOne(ctx context.Context, set int, out io.Writer) (code int) {
	c, of := *s.config, *s.config.Vary
	of.Set, of.Dir = set, s.dir
	c.Vary, c.Stdin, c.Report = &of, nil, ""
	console := output.NewConsole(out, c.Stderr)
	defer func() { code = closed(console, code) }()
	if c.Verbose {
		console.Notef("intrarun: set %d begins", set)
	}
	d := newDriver(&c.Job, console, time.Now())
	d.watchdog = s.watchdog
	code = d.runHere(ctx, &c, s.program, s.watchdog)
	if set == 0 {
		s.report = d.final
	}
	return code
}

var errNoPoints = errors.New("the program came to no safe point, so nothing was compared: call SafePoint in its main loop")

// judge compares what the sets have recorded.
func (s *sets) judge(codes []int) (*vary.Result, error) {
	all := make([]vary.Records, len(codes)+1)
	for set := range all {
		var err error
		if all[set], err = vary.Read(s.dir, set, len(s.config.Degrees)); err != nil {
			return nil, err
		}
	}
	for _, rank := range all[0] {
		if len(rank) == 0 {
			return nil, errNoPoints
		}
	}
	result := vary.Judge(*s.config.Vary, all[0], all[1:], codes)
	for _, set := range result.Sets {
		if set.Disturbed == 0 && set.ExitCode == ExitOK {
			return nil, fmt.Errorf("nothing was disturbed in set %d up to its last safe point, so it says nothing: %v met no number, or sum of several tasks, that could be (what is 0 stays; tasks are those of sections in a program with the tag intra)", set.Set, s.config.Vary.Spec)
		}
	}
	return result, nil
}
