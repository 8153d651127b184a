//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
)

func TestOutputIsPrintedOnce(t *testing.T) {
	const n = 200000
	var want strings.Builder
	for i := range n {
		fmt.Fprintf(&want, "line %d\n", i)
	}
	lines := fmt.Sprintf("lines:%d", n)
	t.Run("killed in the middle", func(t *testing.T) {
		r := runJob(t, "-r 3 -kill 0.0@20ms -kill 0.1@60ms", steps.Program("join", lines, "finish")...)
		require.Equal(t, 0, r.code, r.stderr)
		require.True(t, want.String() == r.stdout, "lines are missing, doubled or torn")
	})
	t.Run("a part of a line is not output", func(t *testing.T) {
		r := runJob(t, "-r 2", steps.Program("join", "out:a", "part:b", "0.0@kill:9", "out:c", "part:d", "finish")...)
		require.Equal(t, "a\nbc\nd", r.stdout)
	})
	t.Run("the output of a peer far ahead is kept", func(t *testing.T) {
		r := runJob(t, "-r 2", steps.Program("join", "0.0@sleep:300ms", "0.0@kill:9", lines, "finish")...)
		require.Equal(t, 0, r.code, r.stderr)
		require.True(t, want.String() == r.stdout)
	})
	t.Run("standard error", func(t *testing.T) {
		want, got := []string{"0.0: gone wrong", "one", "two"}, []string(nil)
		for range 3 { // on a very busy machine the exit may be noticed after a line's hold time
			r := runJob(t, "-r 2 -quiet", steps.Program("join", "err:one", "sleep:100ms", "0.0@err:gone wrong", "0.0@exit:1", "err:two", "finish")...)
			require.Equal(t, 0, r.code)
			if got = slices.Sorted(strings.SplitSeq(strings.TrimSpace(r.stderr), "\n")); slices.Equal(want, got) {
				break
			}
		}
		require.Equal(t, want, got)
	})
	t.Run("a crash loses no lines", func(t *testing.T) {
		r := runJob(t, "-r 2 -quiet", steps.Program("join", "err:one", "0.0@crash", "sleep:200ms", "err:two", "err:three", "finish")...)
		var own []string
		for line := range strings.Lines(r.stderr) {
			if !strings.HasPrefix(line, "0.0: ") {
				own = append(own, line)
			}
		}
		require.Equal(t, []string{"one\n", "two\n", "three\n"}, own)
		require.Contains(t, r.stderr, "0.0: panic: boom\n")
	})
	t.Run("ranks do not mix", func(t *testing.T) {
		r := runJob(t, "-n 3 -r 1", steps.Program("join", "lines:20000", "part:end", "finish")...)
		seen := make(map[string]int)
		for line := range strings.Lines(r.stdout) {
			seen[strings.TrimSuffix(line, "\n")]++
		}
		for i := range 20000 {
			require.Equal(t, 3, seen[fmt.Sprintf("line %d", i)])
		}
		require.Equal(t, 3, seen["end"])
		require.Len(t, seen, 20001)
	})
}

func TestStandardInputGoesToAllReplicasOfRankZero(t *testing.T) {
	input := strings.Repeat("a line of input\n", 50000)
	_, wait := startWith(t, strings.NewReader(input), "-n 2 -r 2", steps.Program("join", "cat", "0.0@kill:9", "finish")...)
	r := wait()
	require.Zero(t, r.code, r.stderr)
	require.True(t, input == r.stdout)
}

// A loop of a shell script reads lines, and runs jobs. A job without standard input leaves the
// lines to the loop.
func TestNoStandardInput(t *testing.T) {
	p := strings.Join(steps.Program("join", "cat", "finish"), " ")
	for flag, want := range map[string]string{"none": "one\ntwo\nthree\n", "0": "two\nthree\none\n"} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("sh", "-c", fmt.Sprintf("while read line; do %s -stdin %s -r 2 %s; echo $line; done", os.Args[0], flag, p))
			cmd.Env = append(os.Environ(), environ...)
			cmd.Stdin = strings.NewReader("one\ntwo\nthree\n")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err)
			require.Equal(t, want, string(out))
		})
	}
}
