package head

import (
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/head/stuck"
	"github.com/intrahpc/intra/internal/job"
)

// A replica may never end, for instance in an endless loop. Once all ranks have finished in
// other replicas, only that replica keeps the job from ending. The job has all results without
// it, so the head fences it after it has made no progress for Config.Endless. If it waits for
// an event that never comes, it has taken another course than the replica that has finished.

// outlasting returns the processes that run while every rank has finished in another replica,
// in the order of their slots.
func (j *judge) outlasting() (all []*member) {
	if j.phase != working || !j.hasBegun || j.retired || len(j.members.wanted) > 0 || j.recovery.mayGoBack() {
		return nil
	}
	through := make([]bool, len(j.config.Degrees))
	for p, m := range j.members.places {
		switch {
		case m.coming(), m.state == gone:
			return nil
		case m.state == finished, j.state.Drained[p.Rank]:
			through[p.Rank] = true
		}
		if m.state == running && m.role == First && m.ending == nil {
			all = append(all, m)
		}
	}
	if slices.Contains(through, false) {
		return nil
	}
	slices.SortFunc(all, func(a, b *member) int { return a.process.Compare(b.process) })
	return all
}

// watchOutlasting records when processes began to outlast the others, and judges those processes.
func (j *judge) watchOutlasting() {
	if len(j.outlasting()) == 0 {
		j.outlasted = longAgo
		return
	}
	if j.outlasted == longAgo {
		j.outlasted = j.now
		j.judgeOutlasting()
	}
}

// idle returns the time for which an outlasting process has made no progress.
func (j *judge) idle(m *member) time.Duration {
	idle := j.now - max(j.outlasted, m.wrote, j.continued)
	if d := j.doing(m); d != nil {
		idle = min(idle, d.Idle)
	}
	return max(idle, 0)
}

// judgeOutlasting fences the outlasting processes that have made no progress for
// Config.Endless, and sets a timer to judge the others again.
func (j *judge) judgeOutlasting() {
	limit := j.config.Endless
	if j.outlasted == longAgo || limit == 0 {
		return
	}
	all := j.outlasting()
	if len(all) == 0 {
		j.outlasted = longAgo
		return
	}
	next := limit
	for _, m := range all {
		idle := j.idle(m)
		switch {
		case idle < limit:
			next = min(next, limit-idle)
		case j.doubtful(m) || j.stoppedNow(m):
			next = min(next, suspectAfter)
		case j.outlastsApart():
			return
		default:
			j.fence(m, ending{job.CauseFenced, fmt.Sprintf("it made no progress for %.1f s, and every rank has finished in another replica: %s",
				idle.Seconds(), j.what(m))})
		}
	}
	j.after(next, timer{kind: judgeEndless})
}

// outlastsApart ends the job if the outlasting processes have taken another course than the
// replicas that finished. It reports whether it has ended the job.
func (j *judge) outlastsApart() bool {
	all, ok := j.waiting()
	if !ok {
		return false
	}
	found := stuck.Find(all, j.config.Endless/2) // half the time, since other processes may have stopped a little later
	return found != nil && found.Apart != nil && j.standApart(found.Apart)
}

// waiting implements Head.Waiting.
func (j *judge) waiting() (all []stuck.Process, ok bool) {
	if j.phase != working || !j.hasBegun || j.retired {
		return nil, false
	}
	for _, d := range j.links {
		if d.of.state.there() && d.about.state.there() {
			return nil, false
		}
	}
	for _, m := range j.members.all {
		switch {
		case m.role != First:
		case m.state == gone, m.ending != nil && m.state.there():
			return nil, false
		case m.state == running, m.state == finished:
			p := stuck.Process{Process: m.process, Finished: m.state == finished}
			if !j.stoppedNow(m) && !j.doubtful(m) && j.now-m.statsAt < recently {
				p.Doing = j.doing(m)
			}
			all = append(all, p)
		}
	}
	return all, true
}

// what describes the activity of a process in words.
func (j *judge) what(m *member) string {
	s := runreport.ProcessStatus{Process: m.process, State: string(job.StateRuns), Doing: j.doing(m), Sections: m.stats.Before + m.stats.Sections}
	return s.InWords()
}
