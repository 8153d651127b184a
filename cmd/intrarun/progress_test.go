//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
)

// walk is a program of forty steps. It reports its progress, and prints a line in every tenth
// step.
func walk(p *intra.Process) error {
	for step := range 40 {
		p.Progress(step, 40)
		if step%10 == 0 && p.Rank() == 0 {
			fmt.Printf("step %d\n", step)
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil
}

// onTerminal runs intrarun on a terminal with that number of columns, and returns the output.
func onTerminal(t *testing.T, columns uint16, environ []string, args ...string) string {
	cmd := command(args...)
	cmd.Env = append(cmd.Env, append([]string{"TERM=xterm"}, environ...)...)
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: columns})
	require.NoError(t, err)
	defer terminal.Close()
	var all bytes.Buffer
	_, _ = io.Copy(&all, terminal) // reading fails when no process has the other end open any more
	require.NoError(t, cmd.Wait(), "%s", all.String())
	return strings.ReplaceAll(all.String(), "\r\n", "\n")
}

const clearToEnd = "\x1b[K"

// The progress line stays below the output of the program. It is cut to the width of the
// terminal.
func TestProgressLine(t *testing.T) {
	program := append([]string{"-r", "2", "-kill", "0.1@500ms"}, program(asWalker)...)
	t.Run("on a terminal", func(t *testing.T) {
		t.Parallel()
		const columns = 100
		text := onTerminal(t, columns, nil, program...)
		var lines []string
		for _, m := range regexp.MustCompile(`\r([^\r\n\x1b]+)\x1b\[K`).FindAllStringSubmatch(text, -1) {
			lines = append(lines, m[1])
		}
		all := strings.Join(lines, "\n")
		require.Regexp(t, `(?m)^[\d.]+s  \d+/40 \(\d+ %\)  [\d.]+s left  1/2 processes  1 lost`, all)
		for _, l := range lines {
			require.Less(t, len(l), columns)
		}
		for _, step := range []string{"step 0", "step 10", "step 20", "step 30"} {
			require.Regexp(t, `(?m)(^|`+regexp.QuoteMeta(clearToEnd)+`)`+step+`$`, text)
		}
		require.True(t, strings.HasSuffix(text, clearToEnd), "%q", text[len(text)-20:])
	})
	t.Run("on a narrow terminal", func(t *testing.T) {
		t.Parallel()
		text := onTerminal(t, 20, nil, program...)
		require.Contains(t, text, clearToEnd)
		for _, part := range regexp.MustCompile(`\r([^\r\n]*)\x1b\[K`).FindAllStringSubmatch(text, -1) {
			require.Less(t, len(part[1]), 20)
		}
	})
	for name, c := range map[string]struct {
		environ []string
		flag    string
	}{"quiet": {nil, "-quiet"}, "on a terminal that cannot show it": {[]string{"TERM=dumb"}, "-n=1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := onTerminal(t, 100, c.environ, append([]string{c.flag}, program...)...)
			require.Contains(t, text, "step 30\n")
			require.NotContains(t, text, "\x1b")
			require.NotContains(t, text, "/40")
		})
	}
	t.Run("a file", func(t *testing.T) {
		t.Parallel()
		out, err := command(program...).CombinedOutput()
		require.NoError(t, err)
		require.NotContains(t, string(out), "\x1b")
	})
}

// The status also contains the progress of the job.
func TestProgressInStatus(t *testing.T) {
	out, err := command(append([]string{"-r", "1", "-status-every", "600ms"}, program(asWalker)...)...).CombinedOutput()
	require.NoError(t, err)
	require.Regexp(t, `1 of 1 processes live.*\n  \d+/40 \(\d+ %\)`, string(out))
}
