//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/cmd/intrabench/internal/figures"
	"github.com/intrahpc/intra/cmd/intrabench/internal/filebench"
)

func runFiles(ctx context.Context, args []string, out io.Writer) error {
	fs := newFlags("files")
	var o filebench.Options
	dirs := fs.String("dir", "/dev/shm,"+os.TempDir(), "`folders` to write in, comma-separated, like a memory and a disk")
	size := fs.Int64("size", 256, "MB of the file that two ranks write")
	fs.IntVar(&o.Calls, "calls", 1, "calls in which each rank writes its part")
	fs.IntVar(&o.Rounds, "rounds", 15, "how often every way writes the file, in turn")
	numbers := jsonFlag(fs, args)
	quiet := quietFlag(fs)
	if err := parse(fs, args); err != nil {
		return err
	}
	o.Dirs, o.Bytes = strings.Split(*dirs, ","), *size*1e6
	if *size < 1 || o.Calls < 1 || o.Rounds < 1 {
		return errors.New("-size, -calls and -rounds must be positive")
	}
	if o.Bytes%int64(filebench.Ranks*o.Calls) != 0 {
		return fmt.Errorf("-calls %d: half of %d MB cannot be divided by it", o.Calls, *size)
	}
	if !*quiet {
		o.Before = func(what string, round int) { tellRound(what, round, o.Rounds) }
	}
	programs, err := figures.BuildLauncher(ctx)
	if err != nil {
		return err
	}
	defer programs.Remove()
	commands := func(w filebench.Way, j filebench.Job) (all [][]string) {
		if w.Replicas > 0 {
			line := []string{programs.Intrarun, "-quiet", "-n", strconv.Itoa(filebench.Ranks), "-r", strconv.Itoa(w.Replicas), programs.App, filesJob.name}
			return append(all, append(line, fileArgs(j)...))
		}
		for rank := range filebench.Ranks {
			all = append(all, append(append([]string{programs.App, filesPlain.name}, fileArgs(j)...), strconv.Itoa(rank)))
		}
		return all
	}
	results, err := filebench.Measure(ctx, commands, o)
	if err != nil {
		return err
	}
	printMachine(out)
	if err := filebench.Table(out, o, results); err != nil {
		return err
	}
	return numbers.write(results)
}

// fileArgs returns the arguments for fileFlags.
func fileArgs(j filebench.Job) []string {
	return []string{"-name", j.Name, "-bytes", strconv.FormatInt(j.Bytes, 10), "-calls", strconv.Itoa(j.Calls)}
}

func fileFlags(name string) (*flag.FlagSet, *filebench.Job) {
	fs, j := newFlags(name), new(filebench.Job)
	fs.StringVar(&j.Name, "name", "", "the file")
	fs.Int64Var(&j.Bytes, "bytes", 0, "bytes of the file")
	fs.IntVar(&j.Calls, "calls", 1, "calls in which each rank writes its part")
	return fs, j
}

// filesJob is the program that intrarun runs for files.
var filesJob = command{name: "files-job", run: func(_ context.Context, args []string, out io.Writer) error {
	fs, j := fileFlags("files-job")
	if err := parse(fs, args); err != nil {
		return err
	}
	intra.Main(func(p *intra.Process) error { return filebench.Program(p, *j, os.Stdin, out) })
	return nil // not reached
}}

// filesPlain runs one of the plain processes with which files compares jobs. The argument is the
// number of the process.
var filesPlain = command{name: "files-plain", run: func(_ context.Context, args []string, out io.Writer) error {
	fs, j := fileFlags("files-plain")
	if err := fs.Parse(args); err != nil {
		return usage(err)
	}
	rank, err := strconv.Atoi(fs.Arg(0))
	if err != nil || fs.NArg() != 1 {
		return fmt.Errorf("files-plain %q: want the number of the process, like 0", fs.Args())
	}
	return filebench.Plain(*j, rank, os.Stdin, out)
}}
