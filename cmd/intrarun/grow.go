//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/intrahpc/intra/internal/launch"
)

// grow makes hosts join a running job.
func grow(args []string) int {
	if asksForHelp(args) {
		fmt.Fprint(os.Stderr, usage)
		return launch.ExitOK
	}
	if len(args) < 2 {
		return fail("grow", errors.New("want a job and hosts: usage is intrarun grow JOB HOST[:SLOTS] [HOST[:SLOTS]]"))
	}
	pid, err := jobID(args[0])
	if err != nil {
		return fail("grow", err)
	}
	text, err := launch.AskGrow(pid, strings.Join(args[1:], ","))
	return answered("grow", text, err)
}
