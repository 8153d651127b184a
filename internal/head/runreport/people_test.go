package runreport

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/wholefile"
	"github.com/intrahpc/intra/internal/job"
)

// shared is a report of two replicas that share the tasks of one kernel and not those of another
// one.
func shared() *Report {
	r := &Report{Ranks: 1, Degrees: []int{2}, Link: "shm", Threads: 1, IntraTag: true, WallSeconds: 40, TaskTypes: make(map[string]TaskType)}
	for replica := range 2 {
		r.Add(Process{Process: job.Process{Replica: replica}, End: "finished"}, job.Stats{Sections: 10, TasksRun: 80, TasksReceived: 80,
			TaskTypes: map[string]job.TaskStats{
				"heat.relax": {Run: 80, Received: 80, Seconds: 20, SectionSeconds: 25, AloneSeconds: 40, Decision: "share"},
				"heat.copy":  {Run: 80, UpdateBytes: 800, Seconds: 1, SectionSeconds: 1, AloneSeconds: 0.9, Decision: "replicate"},
				"heat.alone": {Run: 80, Seconds: 1, SectionSeconds: 2, AloneSeconds: 3, Decision: "replicate"},
				"heat.inner": {Run: 8, Seconds: 0.5, Decision: "share"},
			}})
	}
	return r
}

func TestSavingsInWords(t *testing.T) {
	r := shared()
	require.Equal(t, "sharing saved 15.0 s of 40.0 s (E 0.80)", r.TaskTypes["heat.relax"].Paid())
	require.Equal(t, "sharing cost 0.100 s beside 0.900 s (E 0.45); it does not pay, so each replica runs all tasks", r.TaskTypes["heat.copy"].Paid())
	require.Equal(t, "not shared: each replica ran all tasks, in 2.0 s (E 0.50)", r.TaskTypes["heat.alone"].Paid())
	require.Equal(t, "run 16 times in 1.000 s; no section that begins with it was shared", r.TaskTypes["heat.inner"].Paid())

	// The only replica of a rank has no replica to share with.
	alone := &Report{Degrees: []int{1}, TaskTypes: make(map[string]TaskType)}
	alone.Add(Process{}, job.Stats{TaskTypes: map[string]job.TaskStats{"f": {Run: 1, SectionSeconds: 1, AloneSeconds: 1, Decision: "share"}}})
	require.Zero(t, alone.TaskTypes["f"].Sharers)
}

// The report gives the reason of every rollback.
func TestReasonsOfRollbacks(t *testing.T) {
	for want, b := range map[string]Rollback{
		"as ranks [0 2] were lost":                                       {Lost: []int{0, 2}},
		"as ranks [] were lost":                                          {},
		"as there was a doubt about rank 1":                              {Differed: []int{1}},
		"as 0.1 was convicted of a wrong result and ranks [2] were lost": {Lost: []int{2}, Blamed: &job.Process{Replica: 1}},
		"as there was a doubt about rank 1 and ranks [0] were lost":      {Lost: []int{0}, Differed: []int{1}},
	} {
		require.Equal(t, want, b.Why())
	}
}

// The report gives the largest DecidedAfter of all replicas.
func TestDecidedAfterIsTheLargest(t *testing.T) {
	r := &Report{Degrees: []int{2}, TaskTypes: make(map[string]TaskType)}
	for _, after := range []int64{2, 7, 5} {
		r.Add(Process{}, job.Stats{TaskTypes: map[string]job.TaskStats{"f": {Run: 1, DecidedAfter: after}}})
	}
	require.EqualValues(t, 7, r.TaskTypes["f"].DecidedAfter)
}

func TestReportInWords(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "r.json")
	to, err := wholefile.Open(file)
	require.NoError(t, err)
	require.NoError(t, shared().Write(to))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(text), "{\n  \"version\": 1,\n  \"exit_code\": 0,\n"), "%s", text)
	r, err := Read(file)
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, r.Print(&b))
	require.Contains(t, b.String(), "exit code  0: every rank finished\n")
	require.Contains(t, b.String(), "heat.relax: sharing saved 15.0 s of 40.0 s (E 0.80)\nheat.alone: ")

	other := shared()
	other.WallSeconds = 20
	delete(other.TaskTypes, "heat.inner")
	b.Reset()
	require.NoError(t, Compare(&b, "a", "b", r, other))
	require.Regexp(t, `time \(s\) +40\.000 +20\.000 +0\.500\n`, b.String())
	require.Regexp(t, `heat.relax \(s\) +25\.000 +25\.000 +1\.000\n`, b.String())
	require.Regexp(t, `heat.inner +1\.000 +not run\n`, b.String())

	for text, want := range map[string]string{
		"x":                           "is no report of intrarun: invalid",
		"{}":                          "is no report of intrarun: it has no degrees",
		`{"degrees":[2]}`:             "has version 0, this intrarun reads version 1",
		`{"degrees":[2],"version":9}`: "has version 9",
		`{"degrees":[2],"version":1}`: "is no report of intrarun: it has 0 ranks and degrees [2]",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err = Read(file)
		require.ErrorContains(t, err, want)
	}
	_, err = Read(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
