//go:build linux

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head/runreport"
)

// counted runs a program that shares tasks. It returns the report, and the output of intrarun
// report.
func counted(t *testing.T, flags string) (*runreport.Report, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.json")
	r := storer(t, flags, "")
	require.Zero(t, r.code, r.stderr)
	b, err := json.Marshal(r.report)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, b, 0o600))
	out, err := command("report", file).Output()
	require.NoError(t, err)
	report, err := runreport.Read(file)
	require.NoError(t, err)
	return report, string(out)
}

// tasksOf returns the number of tasks in which a counter was read.
func tasksOf(r *runreport.Report, name string) (n int64) {
	for _, k := range r.TaskTypes {
		n += k.Counters[name].Tasks
	}
	return n
}

// TestCounters checks that each replica counts some of the events, and that the report
// contains all of them. Every machine can count these events, with or without perf.
func TestCounters(t *testing.T) {
	r, text := counted(t, "-r 2 -sched static -counters cycles,page-faults,task-clock")
	who := make(map[string][]string)
	for _, c := range r.Counters {
		for _, p := range c.Processes {
			who[c.Name] = append(who[c.Name], p.String())
		}
		if c.From == "" {
			require.NotEmpty(t, c.Why)
		}
	}
	require.Equal(t, map[string][]string{"cycles": {"0.0", "0.1"}, "page-faults": {"0.0"}, "task-clock": {"0.1"}}, who)
	require.Positive(t, r.Processes[0].TasksRun)
	require.Equal(t, r.Processes[0].TasksRun, tasksOf(r, "page-faults"))
	require.Equal(t, r.Processes[1].TasksRun, tasksOf(r, "task-clock"))
	drift := r.TaskTypes["direct.drift"]
	require.Positive(t, drift.Counters["task-clock"].PerTask())
	require.Regexp(t, `in a task +read \(B\) +written \(B\) +GB/s .*page-faults +task-clock\n`, text)
	require.Regexp(t, `direct.drift +\d`, text)
	require.Regexp(t, `process +user s +system s`, text)
	require.Contains(t, text, "page-faults is counted")

	// x and v are read and written, and the cells of the reductions are written.
	const blocks = 2 * drifting * 8
	require.GreaterOrEqual(t, drift.ReadBytes, int64(drift.Run)*blocks/64, "at most 64 tasks in a section")
	require.Greater(t, drift.WrittenBytes, drift.ReadBytes)

	for _, flags := range []string{"-r 1", "-r 1 -threads 2", "-r 2 -sdc dual", "-r 3"} {
		r, _ := counted(t, flags+" -counters page-faults,task-clock,context-switches")
		if strings.HasPrefix(flags, "-r 1") {
			require.Equal(t, r.TasksRun, tasksOf(r, "context-switches"), flags)
		}
		require.Positive(t, tasksOf(r, "page-faults")+tasksOf(r, "task-clock"), flags)
	}
}

// TestNoCounters checks that nothing is counted without the flag, and that the report contains
// the values that need no counter.
func TestNoCounters(t *testing.T) {
	r, text := counted(t, "-r 2")
	require.Empty(t, r.Counters)
	require.NotContains(t, text, "in a task")
	require.Positive(t, r.TaskTypes["direct.drift"].ReadBytes)
	for _, p := range r.Processes {
		require.Positive(t, p.Usage.ResidentBytes)
		require.Positive(t, p.Usage.User+p.Usage.System)
	}
}
