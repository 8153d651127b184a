//go:build system

package systemtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// The tests in this file kill real processes of jobs that replace processes or roll back.

// lasting runs jobs of growing size until one lasts long enough. On a busy machine a small
// job may end before a process was started again. It returns the last run, and a function
// that runs the same problem without failures.
func lasting(t *testing.T, flags, args string, enough func(*jobtest.Report) bool) (r jobRun, again func(flags string) jobRun) {
	t.Helper()
	for _, p := range []struct{ size, iters int }{{10, 60}, {10, 211}, {20, 211}, {28, 211}, {40, 211}, {60, 211}} {
		problem := strings.Fields(fmt.Sprintf("-nx %d -ny %[1]d -nz %[1]d -iters %d %s", p.size, p.iters, args))
		again = func(flags string) jobRun { return intrarun(t, flags, problem...) }
		if r = again(flags); enough(&r.report) {
			return r, again
		}
	}
	require.Fail(t, "not all expected events have happened", "%s\n%s", flags, r.stderr)
	return r, again
}

// A process that is killed is replaced, whatever its peers are doing.
func TestReplacementOfRealProcesses(t *testing.T) {
	for _, c := range jobtest.Some([]struct {
		flags    string
		replaced []string
	}{
		{"-n 2 -r 2 -link shm -kill 0.1@section:20", []string{"0.1"}},
		{"-n 2 -r 2 -link unix -kill 1.0@task:33", []string{"1.0"}},
		{"-n 2 -r 2 -link tcp -kill 0.0@update:7 -kill 1.1@section:40", []string{"0.0", "1.1"}},
		{"-n 2 -r 2 -kill 0.1@section:20 -kill 0.1@section:30", []string{"0.1", "0.1"}}, // the process and its replacement die
		{"-degrees 2,1 -link tcp -kill 0.0@section:9", []string{"0.0"}},
		{"-degrees 2,3 -kill 1.0@message:4 -kill 1.1@section:9", []string{"1.0", "1.1"}},
		// The joiner dies.
		{"-n 2 -r 2 -kill 0.1@section:9 -kill 0.1@join:receive", []string{"0.1"}},
		{"-n 2 -r 2 -link tcp -kill 0.1@section:9 -kill 0.1@join:joined", []string{"0.1"}},
		{"-n 2 -r 2 -kill 0.1@section:9 -kill 0.1@join:admit", []string{"0.1", "0.1"}},
		// The donor dies.
		{"-n 2 -r 3 -kill 0.1@section:9 -kill 0.0@join:copy", []string{"0.0", "0.1"}},
		{"-n 2 -r 3 -link tcp -kill 0.1@section:9 -kill 0.0@join:drain", []string{"0.0", "0.1"}},
		{"-n 2 -r 3 -kill 0.1@section:9 -kill 0.0@join:state", []string{"0.0", "0.1"}},
		{"-n 2 -r 2 -kill 0.1@section:9 -kill 0.0@join:go", []string{"0.0", "0.1"}},
		// Every safe point is a cut.
		{"-n 2 -r 2 -backup 1 -kill 0.1@section:9", []string{"0.1"}},
		// A third process dies, alone or together with one of the two.
		{"-degrees 2,2 -kill 0.1@section:9 -kill 1.0@join:ask", []string{"0.1", "1.0"}},
		{"-degrees 2,3 -kill 0.1@section:9 -kill 1.0@join:admit -kill 0.1@join:admit", []string{"0.1", "0.1", "1.0"}},
		{"-degrees 3,2 -kill 0.1@section:9 -kill 0.0@join:state -kill 1.1@join:drain", []string{"0.0", "0.1", "1.1"}},
	}, 1, 2, 4, 8, 9, 12, 14) {
		t.Run(c.flags, func(t *testing.T) {
			r, again := lasting(t, "-replace "+c.flags, "-json", func(r *jobtest.Report) bool {
				joined := r.Replaced()
				slices.Sort(joined)
				return r.Fired() && slices.Equal(joined, c.replaced)
			})
			got := r.sum(t)
			want := again("-n 2 -r 1").sum(t)
			require.Equal(t, want, got, r.stderr)
			for _, one := range r.report.Replacements {
				require.Positive(t, one.Bytes)
				require.Equal(t, one.Process.Rank, one.Donor.Rank)
				require.Greater(t, one.Incarnation, uint32(1))
			}
		})
	}
}

// The loss of a donor that is the last replica of its rank ends the job.
func TestTheLastDonorIsKilled(t *testing.T) {
	for _, step := range []string{"ask", "copy", "drain", "state"} {
		r, _ := lasting(t, "-n 2 -r 2 -replace -kill 0.1@section:9 -kill 0.0@join:"+step, "-json", (*jobtest.Report).Fired)
		require.Equal(t, 3, r.code, r.stderr)
		require.Contains(t, r.report.Error, "rank 0 has lost its last replica 0.0")
		require.Contains(t, r.report.Error, "no backup was asked for")
		require.Empty(t, r.stdout)
	}
}

// After it was replaced, a replica has half of the work again.
func TestAReplacementSharesTheWork(t *testing.T) {
	const enough = 100 // number of sections in which the replacement must take part; in the first one it may run fewer tasks
	r, _ := lasting(t, "-n 1 -r 2 -sched static -replace -kill 0.1@section:20", "-json", func(r *jobtest.Report) bool {
		return slices.ContainsFunc(r.Processes, func(p jobtest.End) bool { return p.Incarnation > 1 && p.Sections > enough })
	})
	require.Zero(t, r.code, r.stderr)
	seen := false
	for _, p := range r.report.Processes {
		if p.Process == (job.Process{Rank: 0, Replica: 1}) && p.Incarnation > 1 {
			seen = true
			require.Positive(t, p.Sections)
			require.InEpsilon(t, p.Sections*8, p.TasksRun, 0.01, "8 of 16 tasks in each of its sections")
		}
	}
	require.True(t, seen, "the replacement is in the report")
}

// passes returns the lines about the passes of a job that ended well.
func passes(t *testing.T, r jobRun) (list []string) {
	t.Helper()
	require.Zero(t, r.code, r.stderr)
	for l := range strings.Lines(r.stdout) {
		if strings.HasPrefix(l, "pass") || strings.HasPrefix(l, "HPCCG") {
			list = append(list, l)
		}
	}
	return list
}

// Each line of output appears once, in order, whichever replica prints it. The schedule
// keeps the replicas close together. Otherwise one that was far ahead could be killed
// before the other one was replaced.
func TestOutputAcrossReplacements(t *testing.T) {
	r, again := lasting(t, "-n 1 -r 2 -replace -sched static -kill 0.0@section:100 -kill 0.1@section:500", "", func(r *jobtest.Report) bool { return len(r.Replacements) == 2 })
	want := passes(t, again("-n 1 -r 1"))
	require.Len(t, want, 12, want)
	require.Equal(t, want, passes(t, r), r.stderr)
}

// A job whose processes were replaced leaves no process or file behind.
func TestReplacementsAreNotLeftBehind(t *testing.T) {
	j, wait := start(t, "-n 2 -r 2 -replace -kill 0.1@section:9", append([]string{hpccg(t)}, strings.Fields("-nx 40 -ny 40 -nz 40 -iters 100000")...)...)
	seen := make(map[int]bool)
	require.Eventually(t, func() bool {
		for _, pid := range ranks(j) {
			seen[pid] = true
		}
		return len(seen) >= 5
	}, jobtest.Deadline, 5*time.Millisecond)
	require.NoError(t, syscall.Kill(j.PID(), syscall.SIGKILL))
	wait() // wait also looks for processes and files that are left
}

// A rank that has lost all replicas is restored from its backup.
func TestRollbackOfRealProcesses(t *testing.T) {
	for _, c := range jobtest.Some([]struct {
		flags string
		lost  []int // by rollback: the ranks whose loss causes it
	}{
		{"-n 2 -r 1 -replace -backup 5 -kill 1.0@section:150", []int{1}},
		{"-n 2 -r 1 -spares 1 -backup auto -link tcp -kill 0.0@task:3000", []int{0}},
		{"-n 2 -r 1 -spares 2 -backup 5 -link unix -kill 1.0@section:150 -kill 0.0@section:700", []int{1, 0}},
		{"-n 2 -r 2 -spares 1 -replace -backup 5 -kill 1.0@backup:complete -kill 1.1@backup:complete", []int{1}},
		{"-degrees 2,1,1 -replace -backup 3 -kill 1.0@section:150 -kill 0.1@backup:abort", []int{1}},
		{"-degrees 1,2 -replace -backup 3 -kill 0.0@section:150 -kill 1.1@backup:ready", []int{0}},
		{"-degrees 1,2 -replace -backup 3 -kill 0.0@section:150 -kill 1.1@backup:resume", []int{0}},
		{"-degrees 1,2 -replace -backup 3 -link tcp -kill 0.0@section:150 -kill 0.0@backup:ready", []int{0, 0}}, // the replacement dies
		{"-n 2 -r 2 -replace -backup 3 -kill 0.0@backup:send -kill 1.0@backup:receive", nil},
		{"-n 2 -r 2 -replace -backup 3 -kill 0.0@backup:stored -kill 1.0@backup:copy", nil},
	}, 1, 2, 4, 6, 8) {
		t.Run(c.flags, func(t *testing.T) {
			r, again := lasting(t, c.flags, "-json", func(r *jobtest.Report) bool {
				joined := map[string]bool{}
				for _, p := range r.Replaced() {
					joined[p] = true
				}
				all := true
				for _, k := range r.Kills {
					all = all && (joined[k.Process.String()] || len(c.lost) == 0 || !k.Fired)
				}
				return r.Kills[0].Fired && len(r.Rollbacks) >= min(1, len(c.lost)) && all
			})
			got := r.sum(t)
			ranks := "-n 2 -r 1"
			if strings.Contains(c.flags, "2,1,1") {
				ranks = "-n 3 -r 1"
			}
			want := again(ranks).sum(t)
			require.Equal(t, want, got, r.stderr)
			require.NotNil(t, r.report.Backup)
			require.Positive(t, r.report.Backup.Complete)
			for _, b := range r.report.Rollbacks {
				require.Positive(t, b.SafePoint)
				require.NotEmpty(t, b.Lost)
				require.Subset(t, c.lost, b.Lost)
			}
		})
	}
}

// Ranks are lost one after another, with -backup auto. The job never rolls back to its
// beginning.
func TestAutomaticBackupsBetweenLosses(t *testing.T) {
	problem := strings.Fields("-nx 10 -ny 10 -nz 10 -iters 1500 -json")
	want := intrarun(t, "-n 2 -r 1", problem...).sum(t)
	r := intrarun(t, "-n 2 -r 1 -replace -backup auto -kill 0.0@section:1500 -kill 1.0@section:3000 -kill 0.0@section:4500", problem...)
	require.Equal(t, want, r.sum(t), r.stderr)
	require.Len(t, r.report.Rollbacks, 3, r.stderr)
	before := uint64(20) // the job has about 250 safe points
	for _, b := range r.report.Rollbacks {
		require.Greater(t, b.SafePoint, before, "%+v", r.report.Rollbacks)
		before = b.SafePoint
	}
}

// A job that cannot replace a lost rank, or has no backup, ends and reports why.
func TestNoWayBack(t *testing.T) {
	for flags, why := range map[string]string{
		"-n 2 -r 1 -replace -backup 5 -kill 1.0@section:5":                              "no backup was complete yet",
		"-n 2 -r 1 -replace -kill 1.0@section:150":                                      "no backup was asked for",
		"-n 2 -r 1 -spares 1 -backup 3 -kill 1.0@section:150 -kill 0.0@section:500":     "no process is left to take its place",
		"-n 2 -r 1 -replace -backup 3 -kill 1.0@section:150 -kill 0.0@backup:fetch":     "the last process that held the state of rank 0 is dead",
		"-degrees 1,1 -spares 1 -backup 3 -kill 0.0@section:150 -kill 1.0@backup:abort": "the last process that held the state of rank 0 is dead",
	} {
		r, _ := lasting(t, flags, "-json", (*jobtest.Report).Fired)
		require.Equal(t, 3, r.code, "%s\n%s", flags, r.stderr)
		require.Contains(t, r.report.Error, why, flags)
		require.Empty(t, r.stdout)
	}
}

// A rank is lost while the job rolls back because of another one. The newer rollback
// replaces the older one, at any step of a process.
func TestRollbacksThatOvertakeEachOther(t *testing.T) {
	problem := strings.Fields("-nx 10 -ny 10 -nz 10 -iters 211 -json")
	want := intrarun(t, "-n 2 -r 1", problem...).sum(t)
	for range jobtest.Count(4, 20) {
		r := intrarun(t, "-degrees 1,2 -replace -backup 3 -kill 0.0@section:150 -kill 1.1@backup:ready", problem...)
		require.Equal(t, want, r.sum(t), r.stderr)
		require.NotEmpty(t, r.report.Rollbacks, r.stderr)
	}
}

// The job does not wait forever for a process that cannot be started again. (intrarun
// keeps no copy of a script, so the test can remove it.)
func TestAReplacementThatCannotBeStarted(t *testing.T) {
	program := filepath.Join(t.TempDir(), "hpccg")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\nexec "+hpccg(t)+" \"$@\"\n"), 0o755))
	j, wait := start(t, "-v -degrees 1,1 -replace -backup 5 -kill 1.0@section:1500", program, "-nx", "20", "-ny", "20", "-nz", "20", "-iters", "1000")
	await(t, j, "all have joined")
	require.NoError(t, os.Remove(program))
	r := wait()
	require.Equal(t, 3, r.code, r.stderr)
	require.Contains(t, r.report.Error, "rank 1 has lost its last replica 1.0")
	require.Contains(t, r.report.Error, "no process takes its place: start 1.0: fork/exec "+program+": no such file or directory")
}

// Lines that are printed again after a rollback appear once.
func TestOutputAcrossRollbacks(t *testing.T) {
	for _, flags := range []string{
		"-n 2 -r 1 -spares 2 -backup 30 -kill 0.0@section:400 -kill 1.0@section:900",
		"-n 2 -r 2 -replace -backup 30 -kill 1.0@section:400 -kill 1.1@section:400",
	} {
		r, again := lasting(t, flags, "", func(r *jobtest.Report) bool { return r.Fired() && len(r.Rollbacks) > 0 })
		require.Equal(t, passes(t, again("-n 2 -r 1")), passes(t, r), r.stderr)
	}
}

func TestBadFlagsOfRecovery(t *testing.T) {
	for flags, want := range map[string]string{
		"-n 2 -backup 5":                    "-backup needs -replace or -spares, because",
		"-n 2 -replace -backup 0":           "want a number of safe points from 1, or auto",
		"-n 2 -replace -backup often":       "want a number of safe points from 1, or auto",
		"-n 1 -replace -backup 5":           "the job has one rank, and another rank has to hold the copy",
		"-n 2 -spares -1":                   "want 0 to 65536 processes",
		"-check -replace":                   "-check and -replace exclude each other",
		"-n 2 -hosts localhost:4 -spares 1": "no slot is free for 1 of 1 spares",
	} {
		r := intrarun(t, flags, "-json")
		require.Equal(t, 2, r.code, flags)
		require.Contains(t, r.stderr, want, flags)
	}
}
