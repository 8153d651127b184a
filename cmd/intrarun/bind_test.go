//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/affinity"
	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
)

// bindings returns the processors on which a process may run, according to the
// kernel, for each of its threads.
func bindings(t *testing.T, pid int) string {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	require.NoError(t, err)
	found := make(map[string]bool)
	for _, name := range threads {
		b, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		_, rest, ok := strings.Cut(string(b), "\nCpus_allowed_list:")
		require.True(t, ok)
		list, _, _ := strings.Cut(rest, "\n")
		found[strings.TrimSpace(list)] = true
	}
	require.Len(t, found, 1, "threads of process %d are bound differently", pid)
	for list := range found {
		return list
	}
	return ""
}

// The replicas of a rank run on separate cores, unless the user decides otherwise. The process
// that starts them is not bound.
func TestBind(t *testing.T) {
	usable, err := affinity.Usable()
	require.NoError(t, err)
	if len(usable) < 2 {
		t.Skip("this machine has one core")
	}
	self := bindings(t, os.Getpid())
	for _, tt := range []struct {
		flags   string
		n       int
		own     bool // no two replicas share a core
		neither bool // no replica is bound
	}{
		{"-r 2", 2, true, false},
		{"-r 2 -bind core", 2, true, false},
		{"-r 2 -bind none", 2, false, true},
		{"-r 1", 1, false, true},
		{fmt.Sprintf("-n %d -r 2", len(usable)), 2 * len(usable), false, true},
	} {
		t.Run(tt.flags, func(t *testing.T) {
			marks := filepath.Join(t.TempDir(), "pids")
			job, wait := start(t, tt.flags, steps.Program("join", "mark:"+marks, "forever")...)
			count := make(map[string]int)
			for _, pid := range steps.PIDs(t, marks, tt.n) {
				count[bindings(t, pid)]++
			}
			require.Equal(t, self, bindings(t, job.PID()), "intrarun itself")
			switch {
			case tt.neither:
				require.Equal(t, map[string]int{self: tt.n}, count)
			case tt.own:
				require.Len(t, count, tt.n, "%v", count)
				require.NotContains(t, count, self)
			}
			require.NoError(t, syscall.Kill(job.PID(), syscall.SIGINT))
			wait()
		})
	}
	t.Run("more processes than cores", func(t *testing.T) {
		marks := filepath.Join(t.TempDir(), "pids")
		job, wait := start(t, fmt.Sprintf("-n %d -r 2 -bind core", len(usable)), steps.Program("join", "mark:"+marks, "forever")...)
		count := make(map[string]int)
		for _, pid := range steps.PIDs(t, marks, 2*len(usable)) {
			count[bindings(t, pid)]++
		}
		require.Len(t, count, len(usable))
		for cpus, n := range count {
			require.Equal(t, 2, n, "on %s", cpus)
		}
		require.NoError(t, syscall.Kill(job.PID(), syscall.SIGINT))
		wait()
	})
}

func TestBindUsage(t *testing.T) {
	r := runJob(t, "-bind socket", steps.Program("join")...)
	require.Equal(t, 2, r.code)
	require.Contains(t, r.stderr, `want auto, core or none`)
}
