// Package trial runs one command of a measurement and reads its output.
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

// ErrOutput marks output of a run that cannot be used.
var ErrOutput = errors.New("output of a run that cannot be used")

// Run runs a command line and returns its standard output. When ctx is done, it first sends a
// SIGTERM, so that intrarun can end its processes. An exit code other than 0 is an error,
// unless mayBe contains it.
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

// Turn returns which of n configurations runs as the i-th one in a round. The order rotates,
// and every other round runs backwards, so that no configuration always follows the same one.
// The predecessor matters: a run frees more or less memory, and a run that reuses freed memory
// is faster.
func Turn(round, i, n int) int {
	if round%2 == 1 {
		i = n - 1 - i
	}
	return (i + round/2) % n
}

// Decode decodes JSON. what describes the origin of the text for errors, as in "HPCCG
// printed".
func Decode(what string, b []byte, into any) error {
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%w: %s %q: %w", ErrOutput, what, Clip(b), err)
	}
	return nil
}

// Clip returns the beginning of a text, for use in an error.
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
