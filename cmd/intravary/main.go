//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"

	"github.com/intrahpc/intra/internal/agent/watchdog"
	"github.com/intrahpc/intra/internal/base/version"
	"github.com/intrahpc/intra/internal/base/wholefile"
	"github.com/intrahpc/intra/internal/vary"
)

// Exit codes of intravary itself.
const (
	exitFailed  = 1
	exitRefused = 2
	exitSignal  = 128 // the number of the signal is added
)

func main() {
	if os.Getenv(watchdog.Variable) != "" {
		watchdog.Run(os.Stdin, os.Stderr)
		return
	}
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	if version.Asked(args) {
		fmt.Println(version.Line("intravary"))
		return 0
	}
	o, err := parse(args, os.Stdout)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(os.Stderr, "intravary: %v\n(intravary -h lists the flags)\n", err)
		return exitRefused
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	code, err := vet(o, signals)
	if err != nil {
		fmt.Fprintln(os.Stderr, "intravary:", err)
	}
	return code
}

// options holds the values of the command line.
type options struct {
	vary.Run
	jobs    int // number of sets that run side by side; 0: as many as the cores allow
	report  *wholefile.File
	quiet   bool
	verbose bool
	command []string
}

// parse reads the command line, without the name of the command.
func parse(args []string, help io.Writer) (*options, error) {
	o := &options{}
	fs := flag.NewFlagSet("intravary", flag.ContinueOnError)
	fs.SetOutput(io.Discard) // the caller prints the error once
	var wrong error
	for _, f := range [][2]string{
		{"sets", "run the command `N` times, the first time undisturbed (default 4)"},
		{"bits", "turn the last bit in a share `P` of the numbers that tasks write, like 1%"},
		{"state", "change the numbers of all registered variables, or of one, by a part of themselves at the first safe point: `[NAME=]EPS`, like 1e-12 or cg.x=1e-12. Repeatable for several names"},
		{"hold", "stop a process for up to `DURATION` again and again, so that messages arrive in another order, like 20ms"},
		{"every", "compare at each `N`th safe point (default 1)"},
		{"size", "keep up to `BYTES` of values of the undisturbed run in the folder for temporary files (default 1G)"},
	} {
		fs.Func(f[0], f[1], func(value string) error {
			if err := o.Spec.Set(f[0], value); err != nil {
				wrong = fmt.Errorf("-%s %s: %w", f[0], value, err)
				return err
			}
			return nil
		})
	}
	fs.BoolVar(&o.Order, "order", false, "add and multiply the partial results of tasks in another order")
	fs.Uint64Var(&o.Seed, "seed", rand.Uint64()>>16, "make all choices follow from `NUMBER`, but for those of -hold") // a number that people can type
	fs.IntVar(&o.jobs, "jobs", 0, "run `N` disturbed commands side by side (default as many as there are cores for)")
	report := fs.String("report", "", "write what was found to `FILE`, as JSON, for intrabench vary")
	fs.BoolVar(&o.quiet, "quiet", false, "do not print the table")
	fs.BoolVar(&o.verbose, "v", false, "print when each set begins and ends")
	fs.Bool("version", false, "print the version")
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(help, "usage: intravary [flags] COMMAND [args], like\n  intravary -bits 1% intrarun -n 2 PROGRAM")
			fs.SetOutput(help)
			fs.PrintDefaults()
		} else if wrong != nil {
			err = wrong
		}
		return nil, err
	}
	o.command = fs.Args()
	switch {
	case len(o.command) == 0:
		return nil, errors.New("no command given: usage is intravary [flags] COMMAND [args], like intravary -bits 1% intrarun -n 2 PROGRAM")
	case o.jobs < 0:
		return nil, fmt.Errorf("-jobs %d: want 1 or more", o.jobs)
	}
	if err := o.Check(); err != nil {
		return nil, err
	}
	if *report != "" {
		var err error
		if o.report, err = wholefile.Open(*report); err != nil {
			return nil, fmt.Errorf("-report: %w", err)
		}
	}
	return o, nil
}
