// Package trial runs one command of a measurement and reads what it prints.
package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrOutput marks output of a run that makes no sense.
var ErrOutput = errors.New("output of a run that cannot be used")

// Run runs a command line and returns its standard output. When ctx is done it
// gets a SIGTERM first, so that intrarun can take its processes with it. An exit
// code other than 0 is an error, unless it is one of those that may be.
func Run(ctx context.Context, args []string, mayBe ...int) ([]byte, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if end, ok := errors.AsType[*exec.ExitError](err); ok && slices.Contains(mayBe, end.ExitCode()) && ctx.Err() == nil {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), errors.Join(err, ctx.Err()), bytes.TrimSpace(stderr.Bytes()))
	}
	return stdout.Bytes(), nil
}

// Turn returns which of n configurations runs as the i-th in a round. The order turns, and
// every other round goes backwards, so that none always follows the same one: that has freed
// much memory or little, and what is free is touched in less time.
func Turn(round, i, n int) int {
	if round%2 == 1 {
		i = n - 1 - i
	}
	return (i + round/2) % n
}

// Decode reads JSON; what says whose it is, as "HPCCG printed".
func Decode(what string, b []byte, into any) error {
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%w: %s %q: %w", ErrOutput, what, Clip(b), err)
	}
	return nil
}

// Clip returns the beginning of a text for an error.
func Clip(b []byte) []byte {
	if len(b) > 200 {
		return append(b[:200:200], "…"...)
	}
	return b
}

// HPCCG returns the arguments with which HPCCG solves a problem of that size and
// prints JSON.
func HPCCG(nx, ny, nz, iters int) []string {
	return []string{"-json", "-nx", strconv.Itoa(nx), "-ny", strconv.Itoa(ny), "-nz", strconv.Itoa(nz), "-iters", strconv.Itoa(iters)}
}
