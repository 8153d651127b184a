package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/intrahpc/intra/cmd/intragen/internal/generate"
	"github.com/intrahpc/intra/internal/base/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with its environment as parameters. It returns the exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if version.Asked(args) {
		if _, err := fmt.Fprintln(stdout, version.Line("intragen")); err != nil {
			fmt.Fprintln(stderr, "intragen:", err)
			return 1
		}
		return 0
	}
	o := generate.Options{Stdout: stdout, Stderr: stderr}
	flags := flag.NewFlagSet("intragen", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: go tool intragen [-check] [-diff] [-v] [packages], or intragen -version")
		flags.PrintDefaults()
	}
	flags.BoolVar(&o.Check, "check", false, "write nothing; list outputs that are stale, missing or orphaned, and exit with 1 if there are any")
	flags.BoolVar(&o.Diff, "diff", false, "write nothing; print what would change as a unified diff, and exit with 1 if anything would")
	flags.BoolVar(&o.Verbose, "v", false, "report what is done with each output")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	o.Patterns = flags.Args()
	if len(o.Patterns) == 0 {
		o.Patterns = []string{"."}
	}
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(stderr, "intragen:", err)
		return 1
	}
	o.Dir = dir
	ok, err := generate.Run(ctx, o)
	if err != nil {
		fmt.Fprintln(stderr, "intragen:", err)
		return 1
	}
	if !ok {
		return 1
	}
	return 0
}
