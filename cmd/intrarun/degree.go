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

// degree sets how many replicas ranks of a running job are to have.
func degree(args []string) int {
	if asksForHelp(args) {
		fmt.Fprint(os.Stderr, usage)
		return launch.ExitOK
	}
	if len(args) < 2 {
		return fail("degree", errors.New("want a job, and how many replicas ranks are to have: usage is intrarun degree JOB RANK=N [RANK=N]"))
	}
	pid, err := jobID(args[0])
	if err != nil {
		return fail("degree", err)
	}
	degrees := make(map[int]int)
	for _, arg := range args[1:] {
		left, right, ok := strings.Cut(arg, "=")
		rank, err1 := strconv.Atoi(left)
		n, err2 := strconv.Atoi(right)
		if _, twice := degrees[rank]; !ok || err1 != nil || err2 != nil || rank < 0 || n < 1 {
			return fail("degree", fmt.Errorf("%q: want RANK=N, like 0=2, with at least one replica", arg))
		} else if twice {
			return fail("degree", fmt.Errorf("%q: rank %d is named twice", arg, rank))
		}
		degrees[rank] = n
	}
	text, err := launch.AskDegree(pid, degrees)
	return answered("degree", text, err)
}
