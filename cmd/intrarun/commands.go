//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/launch"
)

// commands are the subcommands of intrarun, by their first argument. They return the exit
// code.
var commands = map[string]func(args []string) int{
	"degree": degree,
	"drain":  drain,
	"grow":   grow,
	"join":   join,
	"report": report,
	"status": status,
}

// fail prints an error of a command line and returns the exit code.
func fail(command string, err error) int {
	fmt.Fprintf(os.Stderr, "intrarun %s: %v\n", command, err)
	return launch.ExitRefused
}

// status prints the state of each process of a job.
func status(args []string) int {
	fs := flag.NewFlagSet("status", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	asJSON := fs.Bool("json", false, "")
	if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(os.Stderr, usage)
		return launch.ExitOK
	} else if err != nil {
		return fail("status", err)
	}
	pid := 0
	switch fs.NArg() {
	case 0:
	case 1:
		var err error
		if pid, err = jobID(fs.Arg(0)); err != nil {
			return fail("status", err)
		}
	default:
		return fail("status", errors.New("want one job: usage is intrarun status [-json] [JOB]"))
	}
	text, err := launch.AskStatus(pid, *asJSON)
	return answered("status", text, err)
}

// asksForHelp reports whether the arguments of a command are one that asks for its usage.
func asksForHelp(args []string) bool {
	return len(args) == 1 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help")
}

// jobID parses the argument by which a user names a running job.
func jobID(arg string) (pid int, err error) {
	if pid, err = strconv.Atoi(arg); err != nil || pid < 1 {
		return 0, fmt.Errorf("%q is no job: want the process ID of intrarun", arg)
	}
	return pid, nil
}

// answered prints the answer of a job to a command, or why there is none, and returns the exit
// code.
func answered(command, text string, err error) int {
	if err != nil {
		fmt.Fprintf(os.Stderr, "intrarun %s: %v\n", command, err)
		return launch.ExitFailed
	}
	return show(" "+command, text)
}

// show prints the result of a command. It returns an exit code for whether printing succeeded.
func show(command, text string) int {
	if _, err := fmt.Print(text); err != nil {
		fmt.Fprintf(os.Stderr, "intrarun%s: %v\n", command, err)
		return launch.ExitFailed
	}
	return launch.ExitOK
}

// report prints a report in words, or compares two reports.
func report(args []string) int {
	if asksForHelp(args) {
		fmt.Fprint(os.Stderr, usage)
		return launch.ExitOK
	}
	if len(args) < 1 || len(args) > 2 {
		return fail("report", errors.New("want one report or two: usage is intrarun report FILE [FILE2]"))
	}
	var all []*runreport.Report
	for _, name := range args {
		r, err := runreport.Read(name)
		if err != nil {
			return fail("report", err)
		}
		all = append(all, r)
	}
	var err error
	if len(all) == 1 {
		err = all[0].Print(os.Stdout)
	} else {
		err = runreport.Compare(os.Stdout, args[0], args[1], all[0], all[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "intrarun report:", err)
		return launch.ExitFailed
	}
	return launch.ExitOK
}
