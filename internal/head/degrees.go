package head

import (
	"cmp"
	"slices"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

// degrees returns how many replicas each rank had at the start, and each later change.
func (h *Head) degrees() (start []int, changes []runreport.DegreeChange) {
	start, changes = make([]int, len(h.config.Degrees)), []runreport.DegreeChange{}
	for _, p := range job.Processes(h.config.Degrees) {
		if !h.config.vacant(p) {
			start[p.Rank]++
		}
	}
	change := func(p job.Process, by int, at float64) {
		changes = append(changes, runreport.DegreeChange{At: at, Process: p, Degree: by})
	}
	for _, v := range h.state.Verdicts {
		if !v.Withdrawn && (!v.Relieved || v.Cause == job.CauseDropped) && (v.Incarnation == firstIncarnation || h.lived(v.Process, v.Incarnation)) {
			change(v.Process, -1, v.At.Seconds())
		}
	}
	for _, r := range h.state.Replaced {
		if r.Left == 0 {
			change(r.Process, 1, r.At.Seconds())
		}
	}
	slices.SortStableFunc(changes, func(a, b runreport.DegreeChange) int { return cmp.Compare(a.At, b.At) })
	now := slices.Clone(start)
	for i := range changes {
		now[changes[i].Process.Rank] += changes[i].Degree
		changes[i].Degree = now[changes[i].Process.Rank]
	}
	return start, changes
}
