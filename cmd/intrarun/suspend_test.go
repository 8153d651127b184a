//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/proc"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// terminal is the screen of a shell script with job control.
type terminal struct {
	*os.File
	t   *testing.T
	cmd *exec.Cmd

	mu    sync.Mutex
	shown bytes.Buffer
}

// shell runs a script of a shell with job control on a terminal.
func shell(t *testing.T, script string) *terminal {
	cmd := exec.Command("sh", "-m", "-c", script)
	cmd.Env = append(append(os.Environ(), environ...), "TERM=dumb")
	f, err := pty.Start(cmd)
	require.NoError(t, err)
	x := &terminal{File: f, t: t, cmd: cmd}
	t.Cleanup(func() {
		f.Close() // closing the terminal sends the session SIGHUP
		_ = cmd.Process.Kill()
	})
	go func() {
		for b := make([]byte, 4096); ; {
			n, err := f.Read(b)
			x.mu.Lock()
			x.shown.Write(b[:n])
			x.mu.Unlock()
			if err != nil { // no process has the other end open any more
				return
			}
		}
	}()
	return x
}

func (x *terminal) text() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return strings.ReplaceAll(x.shown.String(), "\r\n", "\n")
}

// await waits until the terminal shows a text.
func (x *terminal) await(text string) {
	require.Eventually(x.t, func() bool { return strings.Contains(x.text(), text) }, jobtest.Deadline, 10*time.Millisecond, "%s: %v", text, x)
}

func (x *terminal) String() string { return x.text() }

var joinedAs = regexp.MustCompile(`has joined: process (\d+) on`)

// Ctrl-Z stops the ranks together with intrarun, for longer than the head tolerates a stopped
// replica. fg continues them.
func TestCtrlZ(t *testing.T) {
	t.Parallel()
	x := shell(t, fmt.Sprintf(`%s -v -r 2 %s; echo "stopped with $?"; read line; fg; echo "ended with $?"`, os.Args[0], strings.Join(program(asWalker), " ")))
	x.await("step 0")
	_, err := x.Write([]byte{'Z' - '@'})
	require.NoError(t, err)
	x.await("stopped with ")
	ranks := joinedAs.FindAllStringSubmatch(x.text(), -1)
	require.Len(t, ranks, 2)
	for _, m := range ranks {
		pid, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		require.Eventually(t, func() bool { return proc.Stopped(pid) }, jobtest.Deadline, 10*time.Millisecond, "%d", pid)
	}
	time.Sleep(1500 * time.Millisecond) // a stopped replica of a running job is fenced after a second
	require.NotContains(t, x.text(), "step 30")
	_, err = x.Write([]byte("\n"))
	require.NoError(t, err)
	x.await("ended with 0")
	require.Contains(t, x.text(), "step 30")
	require.NotContains(t, x.text(), "dead")
}

// On several hosts Ctrl-Z is ignored, and intrarun reports that once.
func TestCtrlZOnSeveralHosts(t *testing.T) {
	t.Parallel()
	x := shell(t, fmt.Sprintf(`%s -hosts localhost:2 -r 2 %s; echo "ended with $?"`, os.Args[0], strings.Join(program(asWalker), " ")))
	x.await("step 0")
	for range 2 {
		_, err := x.Write([]byte{'Z' - '@'})
		require.NoError(t, err)
		x.await("intrarun: Ctrl-Z is ignored")
	}
	x.await("ended with 0")
	require.Equal(t, 1, strings.Count(x.text(), "Ctrl-Z is ignored"))
}
