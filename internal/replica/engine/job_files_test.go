package engine_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/intratest"
)

func spoil(t *testing.T, name string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, change(b), 0o600))
}

func flipped(b []byte) []byte {
	b[len(b)/2] ^= 4
	return b
}

// TestRestart requires that a job continues from the files of another one, with any
// degrees, and has the same result.
func TestRestart(t *testing.T) {
	r := ring{steps: 30, size: 3000}
	for _, degrees := range [][]int{{1}, {2, 2}, {2, 1, 3}} {
		t.Run(fmt.Sprint(degrees), func(t *testing.T) {
			want, _ := r.result(t, degrees)
			dir := filepath.Join(t.TempDir(), "state")
			got, report := r.result(t, degrees, intratest.Checkpoint(dir, 7))
			require.Equal(t, want, got, "writing files does not change the result")
			require.NotEmpty(t, report.Sets)
			for i := range 3 {
				others := make([]int, len(degrees))
				for rank := range others {
					others[rank] = 1 + (rank+i)%3
				}
				before := report.Run
				got, report := r.result(t, others, intratest.Restart(dir), intratest.Sched("static"))
				require.Equal(t, want, got, "restarted with %v", others)
				require.Empty(t, report.Warnings)
				require.Less(t, report.Run, before, "it did not begin at the start")
			}
		})
	}
}

// TestRestartAgainAndAgain loses whole ranks, and restarts from the files each time, with
// other degrees, until a job succeeds.
func TestRestartAgainAndAgain(t *testing.T) {
	r := ring{steps: 60, size: 2000, slow: time.Millisecond}
	want, _ := r.result(t, []int{2, 2})
	dir := t.TempDir()
	lives := []struct {
		degrees []int
		kills   []string
	}{
		{[]int{2, 2}, []string{"0.0@section:15", "0.1@section:15"}},
		{[]int{1, 1}, []string{"1.0@section:12"}},
		{[]int{3, 1}, []string{"0.1@section:3", "1.0@section:14"}},
		{[]int{2, 2}, nil},
	}
	sections, restarts := int64(0), 0
	for _, life := range lives {
		opts := []intratest.Option{intratest.Checkpoint(dir, 2), intratest.Kills(life.kills...)}
		complete, err := filepath.Glob(filepath.Join(dir, "set-*", "index"))
		require.NoError(t, err)
		if len(complete) > 0 { // almost always true, unless a disk is slow
			opts = append(opts, intratest.Restart(dir))
			restarts++
		}
		if life.kills != nil {
			opts = append(opts, intratest.Fails())
		}
		got, report := r.result(t, life.degrees, opts...)
		if life.kills != nil {
			require.ErrorIs(t, report.Err, intra.ErrLost)
			continue
		}
		require.Equal(t, want, got)
		sections = report.Sections
	}
	if restarts == len(lives)-1 {
		require.Less(t, sections, int64(4*60), "the last job began at the start")
	}
}

// TestFilesBesideRecovery writes files while processes die and are replaced, and the job
// rolls back to backups. A restart from each set gives the same result.
func TestFilesBesideRecovery(t *testing.T) {
	r := ring{steps: 60, slow: time.Millisecond, size: 512}
	for i, kills := range [][]string{
		{"1.1@task:40", "0.0@task:300"},
		{"1.0@section:20", "1.1@section:20"},
		{"0.0@section:17", "0.1@section:33", "1.0@section:29"},
	} {
		t.Run(fmt.Sprint(kills), func(t *testing.T) {
			degrees := []int{2, 2}
			want, _ := r.result(t, degrees)
			dir := t.TempDir()
			var report intratest.Report
			for r.slow = time.Millisecond; len(report.Sets) == 0; r.slow *= 4 { // a slow disk may not finish a set in a short job
				require.Less(t, r.slow, time.Second)
				var got map[int]float64
				got, report = r.result(t, degrees, intratest.Replace(), intratest.Backup(4), intratest.Checkpoint(dir, uint64(3+i)),
					intratest.Kills(kills...))
				require.Equal(t, want, got)
			}
			got, _ := r.result(t, []int{1, 2}, intratest.Restart(dir))
			require.Equal(t, want, got)
			// A restarted job also replaces processes and rolls back.
			got, report = r.result(t, degrees, intratest.Restart(dir), intratest.Replace(), intratest.Backup(2),
				intratest.MayKill("1.0@section:4", "1.1@section:4"), intratest.Fails())
			if report.Err == nil {
				require.Equal(t, want, got)
			}
		})
	}
}

// TestDamagedFiles damages a set in many ways. The set is refused by its name, and the
// older one is used.
func TestDamagedFiles(t *testing.T) {
	r := ring{steps: 20, size: 100}
	degrees := []int{2, 1}
	want, _ := r.result(t, degrees)
	written := func(t *testing.T) (dir string, newest string) {
		dir = t.TempDir()
		for number := uint64(1); number <= 2; number++ { // one set in each run, because a run skips a set while the previous one is still being written
			_, report := r.result(t, degrees, intratest.Checkpoint(dir, 12))
			require.Equal(t, []uint64{number}, report.Sets)
		}
		return dir, filepath.Join(dir, "set-000002")
	}
	for name, c := range map[string]struct {
		change func([]byte) []byte
		want   string
	}{
		"truncated":   {func(b []byte) []byte { return b[:len(b)-20] }, "rank-1: corrupt state: "},
		"bit-flipped": {flipped, "rank-1: corrupt state: "},
		"foreign":     {func([]byte) []byte { return []byte("something else, of some length\n") }, "rank-1: foreign checkpoint: it does not begin as one"},
		"later":       {func(b []byte) []byte { b[17]++; return b }, "rank-1: checkpoint of another version: format 3, and this program reads 2"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, newest := written(t)
			spoil(t, filepath.Join(newest, "rank-1"), c.change)
			got, report := r.result(t, degrees, intratest.Restart(dir))
			require.Equal(t, want, got)
			require.Len(t, report.Warnings, 1)
			require.Contains(t, report.Warnings[0], filepath.Base(newest)+" is not used: "+c.want)
		})
	}
	t.Run("all of them", func(t *testing.T) {
		dir, _ := written(t)
		sets, err := filepath.Glob(filepath.Join(dir, "set-*", "rank-0"))
		require.NoError(t, err)
		for _, name := range sets {
			spoil(t, name, flipped)
		}
		_, report := r.result(t, degrees, intratest.Restart(dir), intratest.Fails())
		require.ErrorIs(t, report.Err, checkpoint.ErrCorrupt)
		require.ErrorContains(t, report.Err, "there is no usable checkpoint in "+dir)
	})
	t.Run("other ranks", func(t *testing.T) {
		dir, _ := written(t)
		_, report := r.result(t, []int{1, 1, 1}, intratest.Restart(dir), intratest.Fails())
		require.ErrorIs(t, report.Err, checkpoint.ErrForeign)
		require.ErrorContains(t, report.Err, "it was made by 2 ranks, this job has 3")
		_, report = r.result(t, []int{1, 1, 1}, intratest.Checkpoint(dir, 1), intratest.Fails())
		require.ErrorContains(t, report.Err, "choose another directory")
	})
	t.Run("none", func(t *testing.T) {
		_, report := r.result(t, degrees, intratest.Restart(t.TempDir()), intratest.Fails())
		require.ErrorContains(t, report.Err, "there is no checkpoint in")
	})
	t.Run("a program with other state", func(t *testing.T) {
		dir, newest := written(t)
		report := intratest.Run(t, intra.Spec{Degrees: degrees}, func(p *intra.Process) error {
			var step int64
			intra.Protect(p, "step", &step)
			return p.SafePoint()
		}, intratest.Restart(dir), intratest.Fails())
		require.ErrorIs(t, report.Err, checkpoint.ErrMismatch)
		require.NotEmpty(t, newest)
	})
}

// TestFilesThatCannotBeWritten requires that the job continues without a set that cannot
// be written, reports that, and writes the next set.
func TestFilesThatCannotBeWritten(t *testing.T) {
	r := ring{steps: 40, size: 100, slow: time.Millisecond}
	want, _ := r.result(t, []int{2, 1})
	dir := t.TempDir()
	r.sums, r.bad = nil, nil
	var once sync.Once
	var failed error
	report := intratest.Run(t, intra.Spec{Degrees: []int{2, 1}}, func(p *intra.Process) error {
		// After the job has begun, a file takes the name of the folder of the first set.
		once.Do(func() { failed = os.WriteFile(filepath.Join(dir, "set-000001"), nil, 0o600) })
		return r.run(p)
	}, intratest.Checkpoint(dir, 5))
	require.NoError(t, errors.Join(failed, r.bad))
	require.Equal(t, want, r.sums)
	require.NotEmpty(t, report.Warnings)
	require.Contains(t, report.Warnings[0], "checkpoint set 1 is abandoned: write the checkpoint of rank")
	require.NotEmpty(t, report.Sets)
	require.NotContains(t, report.Sets, uint64(1))
}
