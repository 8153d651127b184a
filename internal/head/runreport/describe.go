package runreport

import (
	"fmt"
	"maps"
	"slices"
)

// Describe prints a line about the tasks of each process, and one for each type of task.
func (r *Report) Describe(line func(format string, args ...any)) {
	for _, p := range r.Processes {
		rerun := ""
		if p.TasksRerun > 0 {
			rerun = fmt.Sprintf(", %d of them in place of a dead replica", p.TasksRerun)
		}
		line("%v %s: ran %d tasks%s, received %d, sent %.1f MB of updates, in %d sections",
			p.Process, p.End, p.TasksRun, rerun, p.TasksReceived, float64(p.UpdateBytes)/1e6, p.Sections)
	}
	for _, name := range slices.Sorted(maps.Keys(r.TaskTypes)) {
		t := r.TaskTypes[name]
		line("%s (%s): run %d times in %.3f s, received %d times, %.3f s of waiting",
			name, t.Decision, t.Run, t.Seconds, t.Received, t.WaitSeconds)
		if t.Sharers > 0 {
			line("%s: %s", name, t.Paid())
		}
	}
}
