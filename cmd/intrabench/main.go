//go:build linux

// Command intrabench measures this module. Its results are ratios, which carry over from
// machine to machine: values that are compared are measured in alternation, in one run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"

	"github.com/intrahpc/intra/cmd/intrabench/internal/messages"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/agent/watchdog"
	"github.com/intrahpc/intra/internal/base/version"
)

// command is a subcommand. run gets the arguments after its name.
type command struct {
	name, about string
	run         func(ctx context.Context, args []string, out io.Writer) error
}

var commands = []command{
	{"kernels", "vector kernels, on every path and at every size", runKernels},
	{"spmv", "sparse matrix-vector products, in every format", runSpMV},
	{"share", "a program of yours: native, replicated, with results sent and with the default, and where its time goes", runShare},
	{"figures", "an example (-app) native, replicated, with results sent and with the default: the paper's figures 5 and 6c, and E over bandwidth", runFigures},
	{"papers", "overheads and figures of the papers, and E measured against E forecast by the share-or-not rule", runPapers},
	{"grain", "how short a section may be and still save time: METG, the minimum effective task granularity, beside OpenMP", runGrain},
	{"vary", "draws the digits that remain, from a report of intravary", runVary},
	{"hpccg", "HPCCG as a whole, beside an outside program", runHPCCG},
	{"pingpong", "messages between two ranks, with and without replicas", runPingpong},
	{"recovery", "replacement of lost processes, cost of backups and files, efficiency under failures", runRecovery},
	{"detect", "time until all survivors have handled the loss of a process or a host, and cost of the detection", runDetect},
	{"notice", "standstill and time that a move of a process takes, and speed after a host has joined", runNotice},
	{"scale", "start, memory, links, messages and rest over the number of processes", runScale},
	{"files", "one file of two ranks, written by package file, with and without replicas, and by plain processes", runFiles},
	{"collectives", "collective operations, with and without replicas", runCollectives},
}

// jobs are the commands that intrarun runs for other commands.
var jobs = []command{grainJob, detectHead, detectAgent, detectJob, scaleJob, filesJob, filesPlain, noticeMover, noticeSharer}

// moved are the programs that had commands of their own in earlier versions.
var moved = []string{"npb", "hpcg", "minighost", "amg"}

// errUsage means that the command line was wrong, and that the error has been printed.
var errUsage = errors.New("usage")

func main() {
	if len(os.Args) == 3 && os.Args[1] == asRank {
		messages.Rank(os.Args[2])
	}
	if os.Getenv(watchdog.Variable) != "" {
		watchdog.Run(os.Stdin, os.Stderr)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	out := output.NewSink(os.Stdout)
	err := run(ctx, os.Args[1:], out, os.Stderr)
	stop()
	if err == nil {
		err = out.Lost()
	}
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "intrabench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, diag io.Writer) error {
	if version.Asked(args) {
		_, err := fmt.Fprintln(out, version.Line("intrabench"))
		return err
	}
	if len(args) > 0 {
		for _, c := range append(jobs, commands...) {
			if c.name == args[0] {
				return c.run(ctx, args[1:], out)
			}
		}
		if slices.Contains(moved, args[0]) {
			fmt.Fprintf(diag, "intrabench: %s is measured by figures: write intrabench figures -app %[1]s\n", args[0])
			return errUsage
		}
	}
	fmt.Fprintln(diag, "usage: intrabench COMMAND [flags]")
	for _, c := range commands {
		fmt.Fprintf(diag, "  %-12s %s\n", c.name, c.about)
	}
	return errUsage
}

// newFlags returns a flag set for a subcommand. The flag set prints the usage itself.
func newFlags(name string) *flag.FlagSet {
	return flag.NewFlagSet("intrabench "+name, flag.ContinueOnError)
}

// parse parses the flags. It fails if arguments remain.
func parse(fs *flag.FlagSet, args []string) error {
	if err := fs.Parse(args); err != nil {
		return usage(err)
	}
	if fs.NArg() > 0 {
		fmt.Fprintf(fs.Output(), "%s: unexpected argument %q\n", fs.Name(), fs.Arg(0))
		fs.Usage()
		return errUsage
	}
	return nil
}

// usage converts an error of a flag set into errUsage.
func usage(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	return errUsage // package flag has printed the error
}
