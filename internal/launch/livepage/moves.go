package livepage

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

// moves counts the arrivals, departures and changes of degrees that were reported as events.
type moves struct {
	joins, drains, degrees int
	left                   map[int]bool // drains that are done, by index
}

// events returns what happened since the last call.
func (m *moves) events(r *runreport.Report) (all []Event) {
	for _, j := range r.Joins[min(m.joins, len(r.Joins)):] {
		all = append(all, Event{j.At, "join", fmt.Sprintf("host %s has joined, with room for %d processes", j.Host, j.Slots)})
	}
	for i := range r.Drains {
		d := &r.Drains[i]
		what := "host " + d.Host
		if d.Process != nil {
			what = d.Process.String()
		}
		if i >= m.drains {
			all = append(all, Event{d.At, "leave", fmt.Sprintf("%s is to leave (%s)", what, d.Reason)})
		}
		if d.Seconds > 0 && !m.left[i] {
			if m.left == nil {
				m.left = make(map[int]bool)
			}
			m.left[i] = true
			all = append(all, Event{d.At + d.Seconds, "leave", fmt.Sprintf("%s has left, %.3f s after the notice", what, d.Seconds)})
		}
	}
	told := make(map[job.Process][]float64) // other events about a process already report these changes
	for _, f := range r.Failures {
		told[f.Process] = append(told[f.Process], f.At)
	}
	for _, n := range r.Replacements {
		told[n.Process] = append(told[n.Process], n.Joined)
	}
	for _, c := range r.Recovery.Degrees[min(m.degrees, len(r.Recovery.Degrees)):] {
		if !slices.Contains(told[c.Process], c.At) {
			all = append(all, Event{c.At, "degree", fmt.Sprintf("the number of replicas of rank %d is %d from here on", c.Process.Rank, c.Degree)})
		}
	}
	m.joins, m.drains, m.degrees = len(r.Joins), len(r.Drains), len(r.Recovery.Degrees)
	return all
}

// letGo marks the slots of processes that were let go as empty. Their ranks were to have fewer
// replicas, so they do not count as deaths.
func letGo(states string, degrees []int, r *runreport.Report) string {
	last := make(map[job.Process]*runreport.Process)
	for i := range r.Processes {
		p := &r.Processes[i]
		if was := last[p.Process]; was == nil || was.Incarnation < p.Incarnation {
			last[p.Process] = p
		}
	}
	letters := []byte(states)
	for p, k := range numbered(degrees) {
		if l := last[p]; l != nil && l.End == runreport.EndDropped && k < len(letters) && letters[k] == dead {
			letters[k] = absent
		}
	}
	return string(letters)
}
