package head

import (
	"time"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/head/stuck"
	"github.com/intrahpc/intra/internal/job"
)

// recently bounds the age of a process's report of its activity. An older report does not
// count. A process reports four times a second.
const recently = time.Second

// Status returns the activity of each process, from the reports that this head has
// received.
func (h *Head) Status() runreport.Status {
	s := runreport.Status{Elapsed: h.elapsed().Seconds(), Degrees: h.config.Degrees, Deaths: len(h.deaths.failures),
		Replaced: h.replaced(), Leaving: h.leaves.names(), Rollbacks: len(h.state.Rollbacks), Processes: []runreport.ProcessStatus{}}
	for _, x := range h.state.Hosts {
		s.Joined = append(s.Joined, x.Name)
	}
	for rank := range h.config.Degrees {
		s.Replicas = append(s.Replicas, h.members.alive(rank))
	}
	if h.config.Least != nil {
		s.Targets = h.members.targets()
	}
	var savings runreport.Savings
	ranks := make(map[int]*job.Doing) // by rank: the activity of the replica with the most progress
	for _, m := range h.members.all {
		if !m.state.there() && m.state != chosen {
			continue
		}
		p := runreport.ProcessStatus{Process: m.process, Incarnation: m.incarnation, Host: m.node.Name, PID: m.pid, State: m.state.String(), Spare: m.role == Spare}
		switch {
		case h.stoppedNow(m):
			p.State = "stopped"
		case h.doubtful(m):
			p.State = "out of touch"
		case m.state == arriving, m.role == Joiner && m.state < arriving:
			p.State = string(job.StateJoining)
			if d := h.doing(m); d != nil && d.State == job.StateJoining { // a spare reports that state, too
				p.Doing = d
			}
		case m.state == running, m.state == finished:
			p.State = string(job.StateRuns)
			if m.state == finished {
				p.State = string(job.StateFinished)
			}
			if p.Doing = h.doing(m); p.Doing != nil {
				p.State = string(p.Doing.State)
			}
		}
		p.Sections, p.Tasks = m.stats.Before+m.stats.Sections, m.stats.TasksRun
		s.Processes = append(s.Processes, p)
		if m.role == Spare || !m.state.there() {
			continue
		}
		s.Alive++
		savings.Add(h.config.Degrees[m.process.Rank], h.elapsed().Seconds(), m.stats)
		s.Progress.Sections = max(s.Progress.Sections, p.Sections)
		if d := m.stats.Doing; d != nil && m.state == running {
			s.Progress.Points = max(s.Progress.Points, int64(d.Point))
			if was := ranks[m.process.Rank]; (d.Done > 0 || d.Total > 0) && (was == nil || further(d, was)) {
				ranks[m.process.Rank] = d
			}
		}
	}
	var least *job.Doing
	for _, d := range ranks {
		if least == nil || further(least, d) {
			least = d
		}
	}
	if least != nil {
		s.Progress.Done, s.Progress.Total = least.Done, least.Total
	}
	s.E, s.Saved = savings.E(), savings.Share()
	return s
}

// replaced returns the number of processes that have replaced dead ones.
func (h *Head) replaced() (n int) {
	for _, r := range h.state.Replaced {
		if r.Left == 0 && !h.grows(r) {
			n++
		}
	}
	return n
}

// further reports whether a has made more progress than b, as the program counts it. A report
// without a total counts as further than one with a total. So the least advanced report has a
// total if any report has one.
func further(a, b *job.Doing) bool {
	x, y := float64(a.Done)*float64(b.Total), float64(b.Done)*float64(a.Total)
	if a.Total == 0 && b.Total == 0 || x == y {
		return a.Done > b.Done
	}
	return x > y
}

// Waiting returns the live processes and their activities, for the search for a deadlock. ok
// is false if the job does not run, or if a process may soon be declared dead.
func (h *Head) Waiting() (all []stuck.Process, ok bool) { return h.judge.waiting() }

// Outlasting is a process that runs while every rank has finished in another replica.
type Outlasting struct {
	Process job.Process
	Idle    time.Duration // time without progress since the other replicas finished
	What    string        // its activity
}

// Outlasting returns the processes that run while every rank has finished in another
// replica.
func (h *Head) Outlasting() (all []Outlasting) {
	for _, m := range h.judge.outlasting() {
		all = append(all, Outlasting{m.process, h.judge.idle(m), h.judge.what(m)})
	}
	return all
}
