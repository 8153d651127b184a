//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/intrahpc/intra/internal/launch"
)

// commands are what intrarun does besides running a job, by its first argument. They
// return the exit code.
var commands = map[string]func(args []string) int{
	"status": status,
}

// fail says what is wrong with a command line.
func fail(command string, err error) int {
	fmt.Fprintf(os.Stderr, "intrarun %s: %v\n", command, err)
	return launch.ExitRefused
}

// status prints what each process of a job does.
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
		if pid, err = strconv.Atoi(fs.Arg(0)); err != nil || pid < 1 {
			return fail("status", fmt.Errorf("%q is no job: want the process ID of intrarun", fs.Arg(0)))
		}
	default:
		return fail("status", errors.New("want one job: usage is intrarun status [-json] [JOB]"))
	}
	text, err := launch.AskStatus(pid, *asJSON)
	if err != nil {
		fmt.Fprintln(os.Stderr, "intrarun status:", err)
		return launch.ExitFailed
	}
	fmt.Print(text)
	return launch.ExitOK
}
