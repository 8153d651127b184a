//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// patient is a program that reaches safe points until a file exists.
func patient(p *intra.Process, file string) error {
	steps := 0
	intra.Protect(p, "steps", &steps)
	for ; ; steps++ {
		if err := p.SafePoint(); err != nil {
			return err
		}
		there, err := intra.Once(p, func() (bool, error) {
			_, err := os.Stat(file)
			return err == nil, nil
		})
		if there || err != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// starve takes all free descriptors from a process until the returned function is called.
func starve(t *testing.T, pid int) (feed func()) {
	var old unix.Rlimit
	require.NoError(t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &old))
	require.NoError(t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: old.Max}, nil))
	return func() { require.NoError(t, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &old, nil)) }
}

// awaitText waits for a text on standard error.
func awaitText(t *testing.T, j *jobtest.Job, text string) {
	t.Helper()
	require.Eventually(t, func() bool { return strings.Contains(j.Stderr(), text) }, jobtest.Deadline, 10*time.Millisecond, "want %q", text)
}

// If intrarun has no free descriptors for a while, it replaces a lost process later.
func TestReplacementWaitsForDescriptors(t *testing.T) {
	enough := filepath.Join(t.TempDir(), "enough")
	j, wait := start(t, "-v -r 2 -replace", append(program(asPatient), enough)...)
	awaitText(t, j, "all have joined")
	out, err := command("status", "-json", fmt.Sprint(j.PID())).Output()
	require.NoError(t, err)
	var s runreport.Status
	require.NoError(t, json.Unmarshal(out, &s))
	feed := starve(t, j.PID())
	require.NoError(t, syscall.Kill(s.Processes[1].PID, syscall.SIGKILL))
	awaitText(t, j, "0.1 cannot be replaced yet: start 0.1: ")
	awaitText(t, j, "too many open files; intrarun tries again, after growing pauses")
	time.Sleep(time.Second) // further attempts fail meanwhile
	require.NotContains(t, j.Stderr(), "0.1 is replaced")
	feed()
	awaitText(t, j, "0.1 is replaced by another process")
	require.NoError(t, os.WriteFile(enough, nil, 0o600))
	r := wait()
	require.Equal(t, 0, r.code, r.stderr)
	require.Len(t, r.Replacements, 1)
	require.Equal(t, 1, strings.Count(r.stderr, "cannot be replaced"), "once")
}
