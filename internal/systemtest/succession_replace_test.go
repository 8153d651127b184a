//go:build system

package systemtest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/netns"
)

// The host of the head is the first that a job loses in which processes are
// replaced. Its successor replaces those that were there, and more, and takes
// backups that the job goes back to. With the next head the job is lost.
func TestLossOfTheHeadBeforeAReplacement(t *testing.T) {
	net := netns.Test(t, 4)
	replaced := "is replaced by another process on "
	for _, c := range []struct {
		name, flags string
		slots       int
		steps       []string // what the successor says before the next thing is done to the job
		then        [][]string
		code        int
		says        []string
		replaced    []string
	}{
		{"a host, with files", "-n 2 -r 2 -replace -checkpoint {state} -checkpoint-every 9", 2, nil, nil, 0, nil, []string{"0.0", "1.0"}},
		{"a process then", "-n 2 -r 2 -replace", 2, []string{"0.0 " + replaced, "1.0 " + replaced}, [][]string{nil, {"0.1"}}, 0, nil, []string{"0.0", "0.1", "1.0"}},
		{"a process then, with a spare", "-n 2 -r 2 -spares 4", 3, []string{"0.0 " + replaced, "1.0 " + replaced}, [][]string{nil, {"0.1"}}, 0, nil, []string{"0.0", "0.1", "1.0"}},
		{"a rank then", "-n 2 -r 2 -replace -backup 5", 2, []string{"0.0 " + replaced, "1.0 " + replaced}, [][]string{nil, {"1.1", "1.0"}}, 0,
			[]string{"rank 1 has lost its last replica"}, nil},
		{"the only replica of a rank", "-n 3 -r 1 -replace -backup 5", 2, nil, nil, 3,
			[]string{"rank 0 could not be brought back: who held backups was known to the head that was lost"}, []string{}},
		{"a process before", "-n 2 -r 2 -replace -kill 1.1@section:40", 2, nil, nil, 3,
			[]string{"was lost after it had begun to replace processes, and only it knew which process replaces which"}, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for iters := 1000; ; iters *= 3 {
				require.Less(t, iters, 200000, "it has always ended too early")
				problem := strings.Fields(fmt.Sprintf("-nx 16 -ny 16 -nz 16 -iters %d -json", iters))
				until := joined
				if strings.Contains(c.flags, "-kill") {
					until = "from now on losing the head ends the job"
				}
				j := startHosted(t, net, c.slots, strings.ReplaceAll(c.flags, "{state}", filepath.Join(t.TempDir(), "state")), problem, until)
				j.lose(net.Hosts[0].Kill)
				for i, text := range c.steps {
					j.await(text)
					if c.then[i] != nil {
						time.Sleep(300 * time.Millisecond) // for a backup
					}
					for _, p := range c.then[i] {
						j.kill(p)
					}
				}
				r, lost := j.end()
				require.NotContains(t, fmt.Sprint(r.report.Failures), job.CauseFenced)
				if !lost || r.code == 0 && c.replaced != nil && len(r.report.Replacements) < len(c.replaced) || r.code == 0 && c.code != 0 {
					continue // it has ended before all were replaced
				}
				require.Equal(t, c.code, r.code, r.stderr)
				for _, text := range c.says {
					require.Contains(t, r.stderr, text)
				}
				if c.code == 0 {
					want := intrarun(t, strings.Fields(c.flags)[0]+" "+strings.Fields(c.flags)[1]+" -r 1", problem...).sum(t)
					got := r.sum(t)
					require.Equal(t, want, got, r.stderr)
				}
				if c.replaced != nil {
					var all []string
					for _, one := range r.report.Replacements {
						all = append(all, one.Process.String())
					}
					require.ElementsMatch(t, c.replaced, all, r.stderr)
				} else {
					require.Len(t, r.report.Rollbacks, 1, r.stderr)
				}
				return
			}
		})
	}
}
