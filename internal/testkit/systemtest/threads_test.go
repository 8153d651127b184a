//go:build system

package systemtest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// Several workers in each process do not change the bits of the result, whichever
// processes die.
func TestThreads(t *testing.T) {
	want := serial(t, small...).sum(t)
	var each int64 // number of tasks that a replica has to complete
	for _, threads := range []int{1, 2, 4} {
		for replicas := 1; replicas <= 3; replicas++ {
			flags := fmt.Sprintf("-threads %d -r %d", threads, replicas)
			t.Run(flags, func(t *testing.T) {
				r := intrarun(t, flags, small...)
				got := r.sum(t)
				require.Equal(t, want, got)
				require.EqualValues(t, threads, r.report.Threads)
				done := r.report.TasksRun + r.report.TasksReceived
				if each == 0 {
					each = done
				}
				require.Equal(t, each*int64(replicas), done)
				if replicas == 1 || threads == 1 {
					return
				}
				for i, link := range []string{"shm", "unix", "tcp"} {
					if !jobtest.Matrix() && (threads/2+replicas+i)%3 != 0 {
						continue
					}
					flags := flags + " -sched static -link " + link
					most := 58 * 5 * (i + 1) / 4
					for _, point := range []string{"section:11", "task:" + fmt.Sprint(most), "update:" + fmt.Sprint(most)} {
						if replicas == 2 {
							kills(t, want, flags, "0.1@"+point)
						} else {
							kills(t, want, flags, "0.0@"+point, "0.2@"+point)
						}
					}
				}
			})
		}
	}
}

// Each worker has its own row in a timeline, in which tasks do not overlap.
func TestTraceOfThreads(t *testing.T) {
	workers := []string{"0.0", "0.0 worker 1", "0.1", "0.1 worker 1"}
	for iters := 12; ; iters *= 5 { // on a busy machine a worker may start too late for a short job
		name := filepath.Join(t.TempDir(), "trace.json")
		args := strings.Fields(fmt.Sprintf("-nx 32 -ny 32 -nz 32 -iters %d -json", iters))
		r := intrarun(t, "-r 2 -threads 2 -sched static -trace "+name, args...)
		r.sum(t)
		f := readTrace(t, name)
		rows, tasks, end := rowNames(f), make(map[string]int64), make(map[string]float64)
		for _, e := range f.Events {
			if e.Cat == "task" {
				at := rows[e.Row()]
				require.LessOrEqual(t, end[at], *e.TS+1e-3, "%s: a task begins before the last one has ended", at)
				end[at] = e.End()
				tasks[at]++
			}
		}
		all, idle := int64(0), []string(nil)
		for _, at := range workers {
			if all += tasks[at]; tasks[at] == 0 {
				idle = append(idle, at)
			}
		}
		require.Equal(t, r.report.TasksRun, all)
		if len(idle) == 0 {
			return
		}
		require.Less(t, iters, 300, "%q ran nothing", idle)
	}
}
