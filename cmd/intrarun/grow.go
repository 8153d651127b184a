//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/intrahpc/intra/internal/launch"
)

// grow makes hosts join a running job.
func grow(args []string) int {
	if len(args) == 1 && (args[0] == "-h" || args[0] == "-help" || args[0] == "--help") {
		fmt.Fprint(os.Stderr, usage)
		return launch.ExitOK
	}
	if len(args) < 2 {
		return fail("grow", errors.New("want a job and hosts: usage is intrarun grow JOB HOST[:SLOTS] [HOST[:SLOTS]]"))
	}
	pid, err := strconv.Atoi(args[0])
	if err != nil || pid < 1 {
		return fail("grow", fmt.Errorf("%q is no job: want the process ID of intrarun", args[0]))
	}
	text, err := launch.AskGrow(pid, strings.Join(args[1:], ","))
	if err != nil {
		fmt.Fprintln(os.Stderr, "intrarun grow:", err)
		return launch.ExitFailed
	}
	return show(" grow", text)
}
