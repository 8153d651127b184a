//go:build system

package systemtest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// newest returns the newest complete set of checkpoint files in dir, "" if
// there is none.
func newest(t *testing.T, dir string) string {
	t.Helper()
	sets, err := filepath.Glob(filepath.Join(dir, "set-*", "index"))
	require.NoError(t, err)
	if len(sets) == 0 {
		return ""
	}
	return filepath.Dir(sets[len(sets)-1])
}

// number returns the number of the set in a folder, 0 if there is none.
func number(dir string) (n int) {
	_, _ = fmt.Sscanf(filepath.Base(dir), "set-%d", &n) // a failure leaves n at 0
	return n
}

// since counts the complete sets that are newer than last. Numbers of sets that were not
// completed are missing.
func since(t *testing.T, dir, last string) (n int) {
	t.Helper()
	sets, err := filepath.Glob(filepath.Join(dir, "set-*", "index"))
	require.NoError(t, err)
	for _, s := range sets {
		if number(filepath.Dir(s)) > number(last) {
			n++
		}
	}
	return n
}

// TestRestartAfterEverythingDied repeatedly kills intrarun, and with it all processes, at
// random times, which may be during writes. Each time the job continues from its files,
// with other degrees. In the end it has the bits of a run without failures.
func TestRestartAfterEverythingDied(t *testing.T) {
	args := strings.Fields("-nx 24 -ny 24 -nz 24 -iters 1500 -json")
	want := intrarun(t, "-n 2 -r 1", args...).sum(t)
	dir := filepath.Join(t.TempDir(), "state")
	rng := rand.New(rand.NewPCG(1, 9))
	degrees := []string{"2,2", "1,1", "1,3", "2,1"}
	for life := 0; ; life++ {
		flags := fmt.Sprintf("-degrees %s -checkpoint %s -checkpoint-every 7", degrees[life%len(degrees)], dir)
		last := newest(t, dir)
		if last != "" {
			flags += " -restart " + dir
		}
		kill := life < 4
		j, wait := start(t, flags, append([]string{hpccg(t)}, args...)...)
		if kill {
			// Wait for new files on disk, so that the job progresses.
			for newest(t, dir) == last && !ended(j) {
				time.Sleep(time.Millisecond)
			}
			time.Sleep(time.Duration(rng.IntN(20_000)) * time.Microsecond)
			_ = syscall.Kill(j.PID(), syscall.SIGKILL) // an error means that the process has ended
		}
		r := wait()
		if r.code < 0 {
			require.True(t, kill, "%s", r.stderr)
			if since(t, dir, last) > 1 { // the last set may not have been recorded
				require.Contains(t, r.stderr, "is on disk: -restart "+dir+" continues from there")
			}
			continue
		}
		got := r.sum(t)
		require.Equal(t, want, got, flags)
		require.Positive(t, life, "it ended before it could be killed")
		require.NotNil(t, r.report.Restart)
		require.Positive(t, r.report.Restart.Point)
		return
	}
}

// TestRestartAfterALostRank loses a rank. The message of intrarun names the files, and
// they suffice for a restart.
func TestRestartAfterALostRank(t *testing.T) {
	args := strings.Fields("-nx 24 -ny 24 -nz 24 -iters 400 -json")
	want := intrarun(t, "-n 2 -r 1", args...).sum(t)
	dir := t.TempDir()
	r := intrarun(t, "-n 2 -r 1 -checkpoint "+dir+" -checkpoint-every 300", args...)
	require.Zero(t, r.code, "%s", r.stderr)
	r = intrarun(t, "-degrees 1,2 -restart "+dir+" -checkpoint "+dir+" -checkpoint-every 5 -kill 0.0@section:400", args...)
	require.Equal(t, 3, r.code, "%s", r.stderr)
	require.EqualValues(t, 300, r.report.Restart.Point)
	point := r.report.Restart.Point
	if sets := r.report.Checkpoint.Sets; len(sets) > 0 { // true unless the disk is slow
		point = sets[len(sets)-1].Point
		require.Contains(t, r.stderr, fmt.Sprintf("the state at safe point %d is on disk: -restart %s continues from there", point, dir))
	}
	r = intrarun(t, "-n 2 -r 2 -restart "+dir, args...)
	got := r.sum(t)
	require.Equal(t, want, got)
	require.GreaterOrEqual(t, r.report.Restart.Point, point)
	other := strings.Fields("-nx 12 -ny 24 -nz 24 -iters 400 -json")
	r = intrarun(t, "-n 2 -r 2 -restart "+dir, other...)
	require.Equal(t, 2, r.code)
	require.Contains(t, r.stderr, "it was made with `"+strings.Join(args, " ")+"`, this job has `"+strings.Join(other, " ")+"`")
	require.Contains(t, r.stderr, "-restart-anyway continues from it nevertheless")
	r = intrarun(t, "-n 2 -r 2 -restart-anyway -restart "+dir, other...) // the program refuses the files, too
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "the saved state is of -nx 24")
}

// TestDamagedCheckpoints damages a set. It is refused with the name of the file, and the
// older set is used. Without an older set nothing is started.
func TestDamagedCheckpoints(t *testing.T) {
	args := strings.Fields("-nx 10 -ny 10 -nz 10 -iters 30 -json")
	want := intrarun(t, "-n 2 -r 1", args...).sum(t)
	dir := t.TempDir()
	for _, flags := range []string{" -checkpoint-every 16", " -checkpoint-every 8 -restart " + dir} { // each job writes one set, because the second cut would come too late
		r := intrarun(t, "-n 2 -r 2 -checkpoint "+dir+flags, args...)
		require.Zero(t, r.code, "%s", r.stderr)
		require.Len(t, r.report.Checkpoint.Sets, 1)
	}
	name := filepath.Join(newest(t, dir), "rank-1")
	whole, err := os.ReadFile(name)
	require.NoError(t, err)
	change := func(f func(b []byte) []byte) []byte { return f(append([]byte(nil), whole...)) }
	for what, c := range map[string]struct {
		contents []byte
		want     string
	}{
		"truncated":   {whole[:len(whole)/2], "it was cut off"},
		"bit-flipped": {change(func(b []byte) []byte { b[len(b)/2] ^= 1; return b }), "has other contents than were written"},
		"foreign":     {[]byte(strings.Repeat("no checkpoint\n", 100)), "foreign checkpoint: it does not begin as one"},
		"later":       {change(func(b []byte) []byte { b[17] = 7; return b }), "format 7, and this program reads 2"},
	} {
		t.Run(what, func(t *testing.T) {
			require.NoError(t, os.WriteFile(name, c.contents, 0o600))
			r := intrarun(t, "-n 2 -r 2 -restart "+dir, args...)
			got := r.sum(t)
			require.Equal(t, want, got)
			require.Contains(t, r.stderr, "warning: checkpoint set-000002 is not used: rank-1: ")
			require.Contains(t, r.stderr, c.want)
			require.Len(t, r.report.Restart.Refused, 1)
		})
	}
	t.Run("the older one, too", func(t *testing.T) {
		require.NoError(t, os.Truncate(filepath.Join(dir, "set-000001", "rank-0"), 100))
		r := intrarun(t, "-n 2 -r 2 -restart "+dir, args...)
		require.Equal(t, 2, r.code)
		require.Contains(t, r.stderr, "there is no usable checkpoint in "+dir)
		require.Contains(t, r.stderr, "set-000001 is not used: rank-0: ")
		require.Empty(t, r.stdout)
	})
	t.Run("another number of ranks", func(t *testing.T) {
		r := intrarun(t, "-n 3 -r 1 -restart "+dir, args...)
		require.Equal(t, 2, r.code)
		require.Contains(t, r.stderr, "it was made by 2 ranks, this job has 3")
		r = intrarun(t, "-n 3 -r 1 -checkpoint "+dir, args...)
		require.Equal(t, 2, r.code)
		require.Contains(t, r.stderr, "choose another directory")
	})
}

// A new job starts in a folder with sets of an earlier job. The user has to name the job
// to continue from.
func TestSetsOfTwoJobs(t *testing.T) {
	args := strings.Fields("-nx 10 -ny 10 -nz 10 -iters 30 -json")
	dir := t.TempDir()
	for range 2 {
		r := intrarun(t, "-n 2 -r 1 -checkpoint "+dir+" -checkpoint-every 16", args...)
		require.Zero(t, r.code, "%s", r.stderr)
	}
	r := intrarun(t, "-n 2 -r 1 -restart "+dir, args...)
	require.Equal(t, 2, r.code, "%s", r.stderr)
	require.Contains(t, r.stderr, "holds sets of several jobs: set-000002 of the job begun 2")
	r = intrarun(t, "-n 2 -r 1 -restart "+filepath.Join(dir, "set-000001"), args...)
	require.Zero(t, r.code, "%s", r.stderr)
	require.Contains(t, r.stderr, "the job continues from safe point 16, set 1 of "+dir+", of the job begun 2")
}
