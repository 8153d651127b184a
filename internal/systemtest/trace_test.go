//go:build system

package systemtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// traceFile is a file in the trace event format of Chrome.
type traceFile struct {
	TraceEvents []traceEvent `json:"traceEvents"`
}

type traceEvent struct {
	Name, Cat, Ph, ID string
	TS, Dur           float64
	PID, TID          int
	Args              struct {
		Section, Task, Bytes int64
		Name, Detail         string
	}
}

func (e traceEvent) end() float64 { return e.TS + e.Dur }

func readTrace(t *testing.T, name string) traceFile {
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	var f traceFile
	require.NoError(t, json.Unmarshal(b, &f))
	return f
}

// A timeline shows every task, on the row of the replica that ran it, inside
// of its section; every update that was taken in, with an arrow from where it
// was sent; and the death of a replica, whose events up to it are there.
func TestTrace(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trace.json")
	r := intrarun(t, "-n 2 -r 2 -sched static -link tcp -kill 1.1@task:40 -trace "+name, small...)
	r.sum(t)
	require.True(t, r.report.Kills[0].Fired)
	f := readTrace(t, name)
	type row string // as it is labelled
	type place struct{ pid, tid int }
	rows := make(map[place]row)
	tasks := make(map[row]int64)
	sections := make(map[row]map[int64]traceEvent)
	arrows := make(map[string]int)
	var deaths []traceEvent
	for _, e := range f.TraceEvents {
		at := rows[place{e.PID, e.TID}]
		switch {
		case e.Ph == "M" && e.Name == "thread_name":
			rows[place{e.PID, e.TID}] = row(e.Args.Name)
		case e.Cat == "section":
			if sections[at] == nil {
				sections[at] = make(map[int64]traceEvent)
			}
			require.NotContains(t, sections[at], e.Args.Section)
			sections[at][e.Args.Section] = e
		case e.Cat == "task":
			tasks[at]++
		case e.Cat == "failure":
			deaths = append(deaths, e)
		case e.Ph == "s":
			arrows[e.ID]++
		}
	}
	// Viewers take 0 for the idle thread.
	require.Equal(t, map[place]row{{1, 1}: "replica 0.0", {1, 2}: "replica 0.1", {2, 3}: "replica 1.0", {2, 4}: "replica 1.1"}, rows)
	var all int64
	for _, n := range tasks {
		all += n
	}
	// The task in which 1.1 was killed never ended.
	require.EqualValues(t, 40, tasks["replica 1.1"])
	require.Equal(t, r.report.TasksRun, all)
	received := 0
	for _, e := range f.TraceEvents {
		at := rows[place{e.PID, e.TID}]
		switch {
		case (e.Cat == "task" || e.Cat == "wait") && at != "replica 1.1":
			s, ok := sections[at][e.Args.Section]
			require.True(t, ok)
			require.LessOrEqual(t, s.TS, e.TS+1e-3)
			require.LessOrEqual(t, e.end(), s.end()+1e-3)
			require.True(t, e.Cat == "wait" || strings.HasPrefix(e.Name, "hpccg."), e.Name)
		case e.Ph == "f":
			received++
			require.Equal(t, 1, arrows[e.ID], "the arrow that ends at %s", e.ID)
		}
	}
	require.Positive(t, received)
	require.Len(t, deaths, 1)
	require.Equal(t, place{2, 4}, place{deaths[0].PID, deaths[0].TID})
	require.Equal(t, "dead: injected", deaths[0].Name)
	require.Contains(t, deaths[0].Args.Detail, "task:40")
	left, err := filepath.Glob(filepath.Join(filepath.Dir(name), ".trace.json.*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A rank alone has a timeline too, and a trace that cannot be written is found
// out before anything is started.
func TestTraceOfRanksAlone(t *testing.T) {
	name := filepath.Join(t.TempDir(), "trace.json")
	r := intrarun(t, "-n 2 -r 1 -trace "+name, small...)
	r.sum(t)
	n := int64(0)
	for _, e := range readTrace(t, name).TraceEvents {
		if e.Cat == "task" {
			n++
		}
	}
	require.Equal(t, r.report.TasksRun, n)

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

// The report says what each type of task sent and how much of its sections
// was not spent waiting.
func TestReportOfTaskTypes(t *testing.T) {
	r := intrarun(t, "-r 2 -sched static", small...)
	r.sum(t)
	// 11 passes on 6 x 5 x 4 points. Every task is run once, and sent once.
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
