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

// drain makes a host, or a process, leave a job.
func drain(args []string) int {
	fs := flag.NewFlagSet("drain", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	within := fs.Duration("within", 0, "")
	var rest []string
	for len(args) > 0 { // flags may follow JOB and HOST
		if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(os.Stderr, usage)
			return launch.ExitOK
		} else if err != nil {
			return fail("drain", err)
		}
		if args = fs.Args(); len(args) > 0 {
			rest, args = append(rest, args[0]), args[1:]
		}
	}
	if len(rest) != 2 {
		return fail("drain", errors.New("want a job, and a host or process to leave it: usage is intrarun drain [-within DURATION] JOB HOST|RANK.REPLICA"))
	}
	pid, err := strconv.Atoi(rest[0])
	if err != nil || pid < 1 {
		return fail("drain", fmt.Errorf("%q is no job: want the process ID of intrarun", rest[0]))
	}
	if *within < 0 {
		return fail("drain", fmt.Errorf("-within %v: want a positive duration, like 30s", *within))
	}
	text, err := launch.AskDrain(pid, rest[1], *within)
	if err != nil {
		fmt.Fprintln(os.Stderr, "intrarun drain:", err)
		return launch.ExitFailed
	}
	return show(" drain", text)
}
