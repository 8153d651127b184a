//go:build linux

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

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
	pid, err := jobID(rest[0])
	if err != nil {
		return fail("drain", err)
	}
	if *within < 0 {
		return fail("drain", fmt.Errorf("-within %v: want a positive duration, like 30s", *within))
	}
	text, err := launch.AskDrain(pid, rest[1], *within)
	return answered("drain", text, err)
}
