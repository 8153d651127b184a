//go:build system

package systemtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// A process makes links to its neighbours and to its peers in a sum, but not to every
// other process.
func TestLinksAreMadeAtFirstUse(t *testing.T) {
	for _, link := range []string{job.LinkSHM, job.LinkUnix} {
		const ranks, doublings = 16, 4
		r := intrarun(t, fmt.Sprintf("-n %d -r 1 -link %s", ranks, link), strings.Fields("-nx 4 -ny 4 -nz 4 -iters 10 -json")...)
		require.Zero(t, r.code, r.stderr)
		require.Len(t, r.report.Processes, ranks)
		for _, p := range r.report.Processes {
			require.Positive(t, p.Links, "%v", p.Process)
			require.LessOrEqual(t, p.Links, int64(2+2*doublings), "%v", p.Process)
		}
	}
}

// A process is killed when a link arrives, before anything was sent on it. For the other side the
// link never existed. The result is that of a job without deaths.
func TestKillsWhenALinkArrives(t *testing.T) {
	args := strings.Fields("-nx 6 -ny 5 -nz 4 -iters 20 -json")
	const ranks = 5
	alone := fmt.Sprintf("-n %d -r 1", ranks)
	plain := intrarun(t, alone, args...).sum(t)
	for link, times := range map[string]int{job.LinkSHM: jobtest.Count(1, 2), job.LinkUnix: jobtest.Count(0, 1)} {
		for k := range times {
			for flags, replaced := range map[string]int{
				"-kill 1.0@link:%[1]d":                                                              0,
				"-replace -kill 1.0@link:%[1]d -kill 2.1@link:%[2]d":                                2,
				"-replace -backup 3 -kill 1.0@section:20 -kill 1.1@section:30 -kill 1.0@link:%[2]d": 2,
				"-replace -backup 3 -kill 1.0@section:20 -kill 1.1@section:30 -kill 0.1@link:%[1]d": 3,
				"-spares 2 -kill 1.0@link:%[2]d -kill 1.0@link:%[1]d":                               1,
			} {
				if !jobtest.Matrix() && (strings.Contains(flags, "-backup") || strings.Contains(flags, "-spares")) {
					continue // ten processes on two cores spend most of the time waiting for each other
				}
				flags = fmt.Sprintf("-n %[3]d -r 2 -link "+link+" "+flags, k, k+1, ranks)
				t.Run(flags, func(t *testing.T) {
					if replaced > 0 {
						r, again := lasting(t, flags, "-json", func(r *jobtest.Report) bool { return len(r.Replacements) >= replaced })
						got := r.sum(t)
						require.Equal(t, again(alone).sum(t), got, r.stderr)
						return
					}
					r := intrarun(t, flags, args...)
					require.Equal(t, plain, r.sum(t), r.stderr)
					require.True(t, r.report.Fired(), r.stderr)
				})
			}
		}
	}
}
