//go:build linux

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
)

// stepThrough is a program of thirty safe points.
func stepThrough(p *intra.Process) error {
	step := 0
	intra.Protect(p, "step", &step)
	for ; step < 30; step++ {
		if err := p.SafePoint(); err != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
	fmt.Println("done")
	return nil
}

// inFolder replaces DIR in the flags by a new folder.
func inFolder(t *testing.T, flags string) string {
	return strings.ReplaceAll(flags, "DIR", t.TempDir())
}

// Flags that need safe points print a warning at the end if there were none. They do so even
// if no safe point was needed.
func TestFlagsThatNeedSafePoints(t *testing.T) {
	const none = ", because the program reached no safe point (intra.SafePoint)\n"
	for _, c := range []struct {
		flags string
		texts []string // warnings for a program without safe points
	}{
		{"-r 2", nil},
		{"-r 2 -replace", []string{"-replace had no effect"}},
		{"-r 2 -spares 1", []string{"-spares had no effect"}},
		{"-r 2 -checkpoint DIR", []string{"-checkpoint had no effect"}},
		{"-n 2 -r 1 -replace -backup 2 -checkpoint DIR", []string{"-replace, -backup and -checkpoint had no effect"}},
		{"-n 2 -r 1 -spares 1 -backup auto", []string{"-spares and -backup had no effect"}},
		{"-r 2 -replace -kill 0.1@50ms", []string{"no process could be replaced"}},
		{"-r 2 -spares 1 -checkpoint DIR -kill 0.1@50ms", []string{"no process could be replaced", "-checkpoint had no effect"}},
	} {
		t.Run(c.flags, func(t *testing.T) {
			t.Parallel()
			r := runJob(t, inFolder(t, c.flags), steps.Program("join", "sleep:300ms", "finish")...)
			require.Equal(t, 0, r.code, r.stderr)
			for _, text := range c.texts {
				require.Contains(t, r.stderr, "intrarun: warning: "+text+none)
			}
			if c.texts == nil {
				require.NotContains(t, r.stderr, "safe point")
			}
			r = runJob(t, inFolder(t, c.flags), program(asStepper)...)
			require.Equal(t, 0, r.code, r.stderr)
			require.NotContains(t, r.stderr, "no safe point")
		})
	}
}

// A restored program has passed a safe point.
func TestSafePointsOfARestoredProgram(t *testing.T) {
	dir := t.TempDir()
	r := runJob(t, "-r 2 -checkpoint "+dir, program(asStepper)...)
	require.Equal(t, 0, r.code, r.stderr)
	r = runJob(t, "-r 2 -replace -checkpoint "+dir+" -restart "+dir, program(asStepper)...)
	require.Equal(t, 0, r.code, r.stderr)
	require.Equal(t, "done\n", r.stdout)
	require.NotContains(t, r.stderr, "no safe point")
}
