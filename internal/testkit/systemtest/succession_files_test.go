//go:build system

package systemtest

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// The host of the head is lost right before, while or after a set of checkpoint files is
// written, in a job that itself began from files. The job ends with the bits of a run
// without failures. The successor continues to write sets, and another job continues from
// the last one.
func TestLossOfTheHeadAtACheckpoint(t *testing.T) {
	t.Parallel()
	net := netns.Test(t, 4)
	args := strings.Fields("-nx 24 -ny 24 -nz 24 -iters 1200 -json")
	base := filepath.Join(t.TempDir(), "base")
	want := intrarun(t, "-n 2 -r 1 -checkpoint "+base+" -checkpoint-every 800", args...).sum(t)
	require.NotEmpty(t, newest(t, base))

	sets := func(dir, pattern string) int {
		all, err := filepath.Glob(filepath.Join(dir, "set-*", pattern))
		require.NoError(t, err)
		return len(all)
	}
	for name, due := range map[string]func(dir string) bool{
		"before the first one": func(string) bool { return true },
		"while it is begun":    func(dir string) bool { return sets(dir, "") > sets(dir, "index") && sets(dir, "index") > 1 },
		"when a rank has written its file": func(dir string) bool {
			return sets(dir, "rank-?") > 2*sets(dir, "index") && sets(dir, "index") > 1
		},
		"when it is complete": func(dir string) bool { return newest(t, dir) >= filepath.Join(dir, "set-000003") },
		"at any time": func(dir string) bool {
			if newest(t, dir) == "" {
				return false
			}
			time.Sleep(time.Duration(rand.IntN(30_000)) * time.Microsecond)
			return true
		},
	} {
		if !jobtest.Matrix() && name != "while it is begun" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var r jobRun
			var dir, last string
			for try, lost := 0, false; !lost; try++ { // the job may end before the loss
				require.Less(t, try, 5)
				dir = filepath.Join(t.TempDir(), "state")
				r, last, lost = loseHeadWithFiles(t, net, "-restart "+base+" -checkpoint "+dir+" -checkpoint-every 7", args,
					func() bool { return due(dir) }, func() string { return newest(t, dir) })
			}
			got := r.sum(t)
			require.Equal(t, want, got)
			require.EqualValues(t, 800, r.report.Restart.Point)
			require.Len(t, r.report.Failures, 1, r.stderr)
			require.Equal(t, job.Process{}, r.report.Failures[0].Process)

			// Each set has one outcome, and the report lists it with its safe
			// point.
			ended := make(map[uint64]bool)
			point := r.report.Restart.Point
			for _, s := range r.report.Checkpoint.Sets {
				require.False(t, ended[s.Set], "set %d twice: %+v", s.Set, r.report.Checkpoint)
				require.Greater(t, s.Point, point)
				require.Zero(t, (s.Point-800)%7)
				ended[s.Set], point = true, s.Point
			}
			for _, s := range r.report.Checkpoint.Abandoned {
				require.False(t, ended[s.Set], "set %d twice: %+v", s.Set, r.report.Checkpoint)
				ended[s.Set] = true
			}
			for set := range uint64(len(ended)) {
				require.True(t, ended[1+set], "nothing is known of set %d: %+v", 1+set, r.report.Checkpoint)
			}
			require.NotEmpty(t, r.report.Checkpoint.Sets)
			final := r.report.Checkpoint.Sets[len(r.report.Checkpoint.Sets)-1].Set
			require.Equal(t, filepath.Join(dir, fmt.Sprintf("set-%06d", final)), newest(t, dir))
			require.Greater(t, newest(t, dir), last, "the successor has written no set")

			after := intrarun(t, "-n 2 -r 1 -restart "+dir, args...)
			got = after.sum(t)
			require.Equal(t, want, got)
			require.Equal(t, point, after.report.Restart.Point)
			for _, why := range after.report.Restart.Refused {
				require.Contains(t, why, "the set is incomplete") // the set was abandoned
			}
		})
	}
	t.Run("no more are written", func(t *testing.T) {
		var r jobRun
		for try, lost := 0, false; !lost; try++ {
			require.Less(t, try, 5)
			r, _, lost = loseHeadWithFiles(t, net, "-restart "+base, args, func() bool { return true }, func() string { return "" })
		}
		got := r.sum(t)
		require.Equal(t, want, got)
		require.EqualValues(t, 800, r.report.Restart.Point)
		require.Nil(t, r.report.Checkpoint)
	})
}

// loseHeadWithFiles loses the host of the head when due returns true. It returns the
// output of the successor, and the newest set at the time of the loss. lost is false if
// the job ended before.
func loseHeadWithFiles(t *testing.T, net *netns.Net, flags string, args []string, due func() bool, newest func() string) (r jobRun, last string, lost bool) {
	j := startHosted(t, net, 1, "-n 2 -r 2 "+flags, args, joined)
	for end := time.Now().Add(time.Minute); !due() && !j.finished() && time.Now().Before(end); {
		time.Sleep(100 * time.Microsecond)
	}
	require.NoError(t, net.Hosts[0].Kill())
	last = newest()
	<-j.Ended()
	r, lost = j.end()
	return r, last, lost
}
