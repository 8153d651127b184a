//go:build system

package systemtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/timeline/traceformat"
)

// readTrace reads a timeline and requires that it follows the rules of its format.
func readTrace(t *testing.T, name string) *traceformat.File {
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	f, err := traceformat.Check(b)
	require.NoError(t, err)
	return f
}

// rowNames returns the names of the rows of a timeline.
func rowNames(f *traceformat.File) map[traceformat.Row]string {
	rows := make(map[traceformat.Row]string)
	for _, e := range f.Events {
		if e.Phase == "M" && e.Name == "thread_name" {
			rows[e.Row()] = e.Text("name")
		}
	}
	return rows
}

// A timeline shows every task on the row of the replica that ran it, inside its section.
// It shows every received update with an arrow from its sender. It shows the death of a
// replica, with its events up to then.
func TestTrace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trace.json")
	r := intrarun(t, "-n 2 -r 2 -sched static -link tcp -kill 1.1@task:40 -trace "+name, small...)
	r.sum(t)
	require.True(t, r.report.Kills[0].Fired)
	f := readTrace(t, name)
	rows := rowNames(f)
	tasks := make(map[string]int64)
	sections := make(map[string]map[float64]traceformat.Event)
	arrows := make(map[string]int)
	var deaths []traceformat.Event
	for _, e := range f.Events {
		at := rows[e.Row()]
		switch {
		case e.Cat == "section":
			if sections[at] == nil {
				sections[at] = make(map[float64]traceformat.Event)
			}
			require.NotContains(t, sections[at], e.Number("section"))
			sections[at][e.Number("section")] = e
			require.Regexp(t, `^\w+/\w+\.go:\d+$`, e.Text("at"))
		case e.Cat == "task":
			tasks[at]++
		case e.Cat == "death":
			deaths = append(deaths, e)
		case e.Phase == "f":
			arrows[e.Cat]++
		}
	}
	var all int64
	for _, n := range tasks {
		all += n
	}
	// The task during which 1.1 was killed did not end.
	require.EqualValues(t, 40, tasks["1.1"])
	require.Equal(t, r.report.TasksRun, all)
	for _, e := range f.Events {
		at := rows[e.Row()]
		if e.Cat == "task" && at != "1.1" {
			s, ok := sections[at][e.Number("section")]
			require.True(t, ok)
			require.LessOrEqual(t, *s.TS, *e.TS+1e-3)
			require.LessOrEqual(t, e.End(), s.End()+1e-3)
			require.True(t, strings.HasPrefix(e.Name, "hpccg."), e.Name)
		}
	}
	require.Positive(t, arrows["update"])
	require.Positive(t, arrows["message"])
	require.Len(t, deaths, 1)
	require.Equal(t, "1.1", rows[deaths[0].Row()])
	require.Equal(t, "dead: injected", deaths[0].Name)
	require.Contains(t, deaths[0].Text("detail"), "task:40")
	left, err := filepath.Glob(filepath.Join(filepath.Dir(name), ".trace.json.*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// The timeline of a job with failures follows the rules of its format. It shows messages
// with their calls, safe points, cuts, new processes, backups and rollbacks.
func TestTraceOfRecovery(t *testing.T) {
	replaced := func(r *jobtest.Report) bool { return len(r.Replaced()) > 0 }
	for _, tt := range []struct {
		flags  string
		enough func(*jobtest.Report) bool
		kinds  []string // kinds of events in addition to those of every job
	}{
		{"-n 2 -r 2 -sched static -replace -kill 1.1@task:40", replaced, []string{"join", "cut", "death", "verdict", "state", "update"}},
		{"-n 2 -r 2 -spares 1 -link unix -kill 0.1@section:20", replaced, []string{"join", "cut", "death", "verdict", "state"}},
		{"-n 2 -r 1 -replace -backup 2 -kill 1.0@section:150", func(r *jobtest.Report) bool { return len(r.Rollbacks) > 0 }, []string{"rollback", "cut", "death", "state"}},
	} {
		t.Run(tt.flags, func(t *testing.T) {
			t.Parallel()
			name := filepath.Join(t.TempDir(), "trace.json")
			r, _ := lasting(t, tt.flags+" -trace "+name, "-json", tt.enough)
			require.Zero(t, r.code, r.stderr)
			f := readTrace(t, name)
			rows, found, calls, points := rowNames(f), make(map[string]int), make(map[string]int), make(map[string][]float64)
			for _, e := range f.Events {
				found[e.Cat]++
				switch {
				case e.Cat == "call":
					calls[e.Name]++
					require.Regexp(t, `^\w+/\w+\.go:\d+$`, e.Text("at"), e.Name)
				case e.Cat == "safe point" && e.Phase == "X":
					points[rows[e.Row()]] = append(points[rows[e.Row()]], e.Number("safe point"))
				}
			}
			for _, k := range append(tt.kinds, "section", "task", "call", "message", "safe point", "job") {
				require.Positive(t, found[k], k)
			}
			require.Positive(t, calls["AllreduceValue"], "%v", calls)
			for _, at := range []string{"0.0", "0.1", "1.0", "1.1"} {
				if n := points[at]; n != nil {
					require.True(t, slices.IsSorted(n) || found["rollback"] > 0, "%s: %v", at, n)
				}
			}
			require.True(t, slices.ContainsFunc(f.Events, func(e traceformat.Event) bool { return e.Phase == "C" && e.Number("resident") > 1<<20 }))
			require.EqualValues(t, 0, f.Other["droppedEvents"])
			require.NotContains(t, f.Other, "unreadableBlocks")
		})
	}
}

// A timeline that would exceed its limit lacks the oldest events, and intrarun reports
// this.
func TestTraceLimit(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trace.json")
	r := intrarun(t, "-r 2 -trace-limit 1M -trace "+name, "-nx", "8", "-ny", "8", "-nz", "8")
	require.Zero(t, r.code, r.stderr)
	f := readTrace(t, name)
	st, err := os.Stat(name)
	require.NoError(t, err)
	require.LessOrEqual(t, st.Size(), int64(1<<20))
	require.Greater(t, st.Size(), int64(1<<18)) // a dropped block holds a tenth of a second
	dropped := f.Other["droppedEvents"].(float64)
	require.Positive(t, dropped)
	require.Contains(t, r.stderr, fmt.Sprintf("the timeline lacks %.0f events", dropped))
}

// A rank alone has a timeline, too. A trace that cannot be written is an error before any
// process is started.
func TestTraceOfRanksAlone(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trace.json")
	r := intrarun(t, "-n 2 -r 1 -trace "+name, small...)
	r.sum(t)
	n, sections := int64(0), int64(0)
	for _, e := range readTrace(t, name).Events {
		switch e.Cat {
		case "task":
			n++
		case "section":
			sections++
		}
	}
	require.Equal(t, r.report.TasksRun, n)
	require.Positive(t, sections)

	r = intrarun(t, "-trace /no/such/folder/t.json", small...)
	require.Equal(t, 2, r.code)
	require.Contains(t, r.stderr, "-trace")
}

// Links of any bandwidth give the same bits, with replicas dying or not.
func TestLimitedLinks(t *testing.T) {
	want := intrarun(t, "-n 2 -r 1", small...).sum(t)
	for _, flags := range []string{
		"-limit 3MB/s", "-limit 20MB/s -link tcp", "-limit 3MB/s -sched static -kill 0.1@update:30",
		"-limit 3MB/s -link unix -kill 1.0@task:100", "-limit 100GB/s -kill 1.0@message:7",
	} {
		t.Run(flags, func(t *testing.T) {
			r := intrarun(t, "-n 2 -r 2 "+flags, small...)
			got := r.sum(t)
			require.Equal(t, want, got)
			for _, k := range r.report.Kills {
				require.True(t, k.Fired, k.When)
			}
		})
	}
}

// The report contains for each type of task the number of bytes sent, and the share of its
// sections that was not spent waiting.
func TestReportOfTaskTypes(t *testing.T) {
	r := intrarun(t, "-r 2 -sched static", small...)
	r.sum(t)
	// 11 passes on 6 x 5 x 4 points. Every task is run once, and its result is sent once.
	const points, passes = 6 * 5 * 4, 11
	for kernel, bytes := range map[string]int64{
		"waxpby": (2 + 3*passes) * points * 8, "sparsemv": (1 + passes) * points * 8, "ddot": 2 * passes * 16 * 8,
	} {
		tt := r.report.TaskTypes["github.com/intrahpc/intra/examples/hpccg."+kernel]
		require.Equal(t, bytes, tt.UpdateBytes, kernel)
		require.Positive(t, tt.SectionSeconds)
		require.InDelta(t, 1-min(tt.WaitSeconds/tt.SectionSeconds, 1), tt.Overlap, 1e-12)
		r.report.UpdateBytes -= bytes
	}
	require.Zero(t, r.report.UpdateBytes)
}
