//go:build system

package systemtest

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// The host of the head is lost in a job that replaces lost processes: before all processes
// have joined, before any other loss, or after replacements. The next head replaces the
// processes of that host and those that are lost later. It takes backups to which the job
// rolls back.
func TestLossOfTheHeadAndReplacements(t *testing.T) {
	t.Parallel()
	net := netns.Test(t, 4)
	replaced := "is replaced by another process on "
	for _, c := range jobtest.Some([]struct {
		name, flags string
		slots       int
		until       string     // message of the first head before it is lost
		steps       []string   // messages of the successor, one before each further fault
		then        [][]string // processes that are killed
		says        []string
		replaced    []string // nil: the job rolls back once
	}{
		{"before all have joined", "-n 2 -r 2 -replace", 2, "has joined: process", nil, nil, nil, []string{"0.0", "1.0"}},
		{"a host, with files", "-n 2 -r 2 -replace -checkpoint {state} -checkpoint-every 9", 2, joined, nil, nil, nil, []string{"0.0", "1.0"}},
		{"a process then, with a spare", "-n 2 -r 2 -spares 4", 3, joined, []string{"0.0 " + replaced, "1.0 " + replaced}, [][]string{nil, {"0.1"}}, nil, []string{"0.0", "0.1", "1.0"}},
		{"a rank then", "-n 2 -r 2 -replace -backup 5", 2, joined, []string{"0.0 " + replaced, "1.0 " + replaced}, [][]string{nil, {"1.1", "1.0"}},
			[]string{"rank 1 has lost its last replica"}, nil},
		{"the only replica of a rank", "-n 3 -r 1 -replace -backup 5", 2, joined, nil, nil, nil, nil},
		{"a process before", "-n 2 -r 2 -replace -kill 1.1@section:40", 2, joined, nil, nil, nil, []string{"0.0", "1.0", "1.1"}},
		{"a rank before", "-n 2 -r 2 -replace -backup 5 -kill 1.1@section:150 -kill 1.0@section:150", 2, "the job rolls back to safe point", nil, nil, nil, []string{}},
	}, 3) {
		t.Run(c.name, func(t *testing.T) {
			for iters := 1000; ; iters *= 3 {
				require.Less(t, iters, 200000, "it has always ended too early")
				problem := strings.Fields(fmt.Sprintf("-nx 16 -ny 16 -nz 16 -iters %d -json", iters))
				j := startHosted(t, net, c.slots, strings.ReplaceAll(c.flags, "{state}", filepath.Join(t.TempDir(), "state")), problem, c.until)
				for gone := strings.Count(c.flags, "-kill"); strings.Count(j.Stderr(), replaced) < gone && !j.finished(); {
					time.Sleep(time.Millisecond)
				}
				for strings.Contains(c.flags, "-backup") && !strings.Contains(j.Stderr(), backedUp) && !j.finished() {
					time.Sleep(time.Millisecond)
				}
				j.lose(net.Hosts[0].Kill)
				for i, text := range c.steps {
					j.await(text)
					if c.then[i] != nil {
						time.Sleep(300 * time.Millisecond) // time for a backup
					}
					for _, p := range c.then[i] {
						j.kill(p)
					}
				}
				r, lost := j.end()
				require.NotContains(t, fmt.Sprint(r.report.Failures), job.CauseFenced)
				if !lost || r.code == 0 && len(r.report.Replacements) < len(c.replaced) {
					continue // the job ended before all processes were replaced
				}
				require.Zero(t, r.code, r.stderr)
				for _, text := range c.says {
					require.Contains(t, r.stderr, text)
				}
				want := intrarun(t, strings.Fields(c.flags)[0]+" "+strings.Fields(c.flags)[1]+" -r 1", problem...).sum(t)
				got := r.sum(t)
				require.Equal(t, want, got, r.stderr)
				if len(c.replaced) > 0 {
					var all []string
					for _, one := range r.report.Replacements {
						all = append(all, one.Process.String())
					}
					require.ElementsMatch(t, c.replaced, all, r.stderr)
				} else {
					require.NotEmpty(t, r.report.Rollbacks, r.stderr)
				}
				return
			}
		})
	}
}

// One head after another is lost, in a job that replaces lost processes, as long as there
// are three hosts.
func TestHeadsAreLostAgainAndAgain(t *testing.T) {
	t.Parallel()
	jobtest.NeedMatrix(t, "TestHeadsAreLost loses several heads, too")
	net := netns.Test(t, 6)
	for iters := 3000; ; iters *= 3 {
		require.Less(t, iters, 200000, "it has always ended too early")
		problem := strings.Fields(fmt.Sprintf("-nx 16 -ny 16 -nz 16 -iters %d -json", iters))
		j := startHosted(t, net, 3, "-n 2 -r 2 -replace -backup 9", problem, joined)
		now := 0
		j.lose(net.Hosts[now].Kill)
		heads := 1
		for ; heads < 3; heads++ {
			is := regexp.MustCompile(`(\S+) is the new head`)
			settled := func() bool { // the loss of a host takes one replica of each rank with it
				return len(is.FindAllString(j.errs(), -1)) >= heads && len(regexp.MustCompile(`(?m)^intrarun: \S+ is replaced`).FindAllString(j.errs(), -1)) >= 2*heads &&
					strings.Count(j.errs(), "the decisions of the head are kept on ") >= heads || j.over()
			}
			for deadline := time.Now().Add(patience); !settled(); time.Sleep(time.Millisecond) {
				require.True(t, time.Now().Before(deadline), "after %d heads:\n%s", heads, j.errs())
			}
			if j.over() {
				break
			}
			all := is.FindAllStringSubmatch(j.errs(), -1)
			for i, h := range net.Hosts {
				if h.Name == all[len(all)-1][1] {
					now = i
				}
			}
			require.NoError(t, net.Hosts[now].Kill())
		}
		r, lost := j.end()
		if !lost || heads < 3 {
			continue
		}
		require.Zero(t, r.code, r.stderr)
		want := intrarun(t, "-n 2 -r 1", problem...).sum(t)
		require.Equal(t, want, r.sum(t), r.stderr)
		return
	}
}
