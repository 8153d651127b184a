package head

import (
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/runreport"
	"github.com/intrahpc/intra/internal/stuck"
)

// recently is how old what a process has said of itself may be to be true of now:
// it says so ten times a second.
const recently = time.Second

// Status says what each process does, as far as this head has heard.
func (h *Head) Status() runreport.Status {
	s := runreport.Status{Elapsed: h.elapsed().Seconds(), Degrees: h.config.Degrees, Deaths: len(h.failures),
		Replaced: len(h.state.Replaced), Rollbacks: len(h.state.Rollbacks), Processes: []runreport.ProcessStatus{}}
	var saved runreport.Savings
	for _, m := range h.all {
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
		if m.role != Spare {
			s.Alive++
			saved.Add(h.config.Degrees[m.process.Rank], h.elapsed().Seconds(), m.stats)
		}
		s.Processes = append(s.Processes, p)
	}
	s.E = saved.E()
	return s
}

// Waiting returns the processes that have their state, with what they do, for the
// search for a deadlock. ok is false while a process may be about to be declared
// dead, or the job does not run.
func (h *Head) Waiting() (all []stuck.Process, ok bool) {
	if h.phase != working || !h.hasBegun || h.retired {
		return nil, false
	}
	for _, d := range h.doubts {
		if d.of.state.there() && d.about.state.there() {
			return nil, false
		}
	}
	for _, m := range h.all {
		switch {
		case m.role != First:
		case m.state == gone, m.ending != nil && m.state.there():
			return nil, false
		case m.state == running, m.state == finished:
			p := stuck.Process{Process: m.process, Finished: m.state == finished}
			if !h.stoppedNow(m) && !h.doubtful(m) && h.now-m.heard < recently {
				p.Doing = h.doing(m)
			}
			all = append(all, p)
		}
	}
	return all, true
}

// doing is what a process does now, if it still does what it has said last. nil: it
// has not said.
func (h *Head) doing(m *member) *job.Doing {
	if m.stats.Doing == nil {
		return nil
	}
	d := *m.stats.Doing
	old := h.now - m.heard
	d.Idle += old
	d.Waits = append([]job.Wait{}, d.Waits...)
	for i := range d.Waits {
		d.Waits[i].For += old
	}
	return &d
}

// deadlocked: the driver has found a deadlock, and is to end the job.
func (h *Head) deadlocked(e Deadlocked) {
	if h.phase == working {
		h.stop(ExitFailed, e.Text, byWord)
	}
}
