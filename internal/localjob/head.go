package localjob

import (
	"fmt"

	"github.com/intrahpc/intra/internal/checkpoint"
	"github.com/intrahpc/intra/internal/engine"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/transport"
)

// exitFailed is the exit code of a process that the job has ended.
const exitFailed = 1

// What decides about the job is in this file. It tells processes and waits for
// nothing. Only dead and end take the lock, all else is called with it.

// dead declares a process dead, after the first of what it did to end.
func (l *localJob) dead(p *process, cause job.Cause, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.dead || p.finished && l.over {
		return
	}
	p.dead = true
	self, incarnation := p.setup.Self, p.setup.Incarnation
	v := job.Verdict{Epoch: uint64(len(l.verdicts) + 1), Process: self, Incarnation: incarnation, Cause: cause, Detail: fmt.Sprint(why)}
	l.verdicts = append(l.verdicts, v)
	alive := l.drained[self.Rank]
	for q, other := range l.procs {
		other.tell(v)
		alive = alive || q.Rank == self.Rank && !other.dead && !other.joiner
	}
	if l.recovery != nil && l.loss == nil {
		itself := cause == job.CauseExit || cause == job.CausePanic
		saved := l.apply(l.recovery.Died(self, incarnation, itself, l.now()))
		alive = saved // a joiner without its state saves nobody
	}
	switch {
	case alive:
		l.release()
	case l.loss != nil && l.loss.Back:
		l.endLocked(fmt.Errorf("rank %d: %w; %w: %v (%v)", l.loss.Since, ErrLost, l.loss, self, why))
	case cause == job.CauseInjected:
		err := fmt.Errorf("rank %d: %w; the last one was %v, killed on request: %v", self.Rank, ErrLost, self, why)
		if l.loss != nil {
			err = fmt.Errorf("%w; %w", err, l.loss)
		}
		l.endLocked(err)
	default:
		l.endLocked(fmt.Errorf("%v: %w", self, why))
	}
}

// release lets every process go once all live ones have finished.
func (l *localJob) release() {
	for _, p := range l.procs {
		if !p.dead && !p.finished && !p.dismissed {
			return
		}
	}
	if l.over {
		return
	}
	l.over = true
	for _, p := range l.procs {
		p.tell(job.Release{})
	}
}

func (l *localJob) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endLocked(err)
}

func (l *localJob) endLocked(err error) {
	if l.over {
		return
	}
	l.over, l.err = true, err
	if l.recovery != nil {
		l.recovery.Over()
	}
	for _, p := range l.procs {
		p.tell(job.End{Code: exitFailed, Text: err.Error()})
	}
	l.cancel(err)
}

// finished notes that the program of a process has returned.
func (l *localJob) finished(p *process, st job.Stats) {
	if p.dead || p.doomed {
		return
	}
	if l.recovery != nil {
		if l.recovery.State(p.setup.Self) != recovery.Running {
			return // it will hear that the job goes back
		}
		l.apply(l.recovery.Finished(p.setup.Self, p.setup.Incarnation, l.now()))
	}
	p.finished, p.final = true, st
	for q, other := range l.procs {
		if q.Rank == p.setup.Self.Rank && other.finished {
			if how := p.final.Diverged(&other.final); how != "" {
				l.endLocked(fmt.Errorf("%w: %v and %v: %s", engine.ErrDiverged, p.setup.Self, q, how))
				return
			}
		}
	}
	l.release()
}

// isDrained notes that all messages of a process that has finished are handed over.
func (l *localJob) isDrained(p *process) {
	if !p.finished || p.dead || p.doomed {
		return
	}
	l.drained[p.setup.Self.Rank] = true
	if l.recovery != nil {
		l.apply(l.recovery.Through(p.setup.Self, p.setup.Incarnation, l.now()))
	}
}

// apply does what was decided about recovery, and reports whether the job can
// go on.
func (l *localJob) apply(acts []recovery.Action) bool {
	for _, a := range acts {
		switch a.Kind {
		case recovery.Send:
			p := l.procs[a.To]
			if p.setup.Incarnation != a.Incarnation {
				continue
			}
			switch a.Order.Kind {
			case job.OrderRollback:
				p.finished = false
				delete(l.drained, p.setup.Self.Rank)
				l.admitted(p)
			case job.OrderAdmit:
				l.admitted(p)
			case job.OrderResume:
				l.want.Rollbacks = max(l.want.Rollbacks, int(a.Order.Generation))
			}
			p.tell(a.Order)
		case recovery.Start:
			setup := l.setup(a.To, a.Incarnation)
			setup.Joiner, setup.Restart = true, nil
			p := newProcess(l, setup, make(map[job.Process]transport.Link))
			p.joiner = true
			l.procs[a.To] = p
			go l.arrive(p)
		case recovery.Connect:
			if err := l.introduce(l.procs[a.To], a.Peers); err != nil {
				l.endLocked(err)
				return false
			}
		case recovery.Dismiss:
			p := l.procs[a.To]
			p.dismissed = true
			p.tell(job.Release{})
		case recovery.Publish:
			set := &checkpoint.Set{Job: l.files.Job, Number: a.Set, Cut: a.Cut, Files: a.Files}
			l.running.Go(func() { l.publish(set) }) // the processes wait for their files, and so are still there
		case recovery.Abandon:
			l.want.Warnings = append(l.want.Warnings, fmt.Errorf("checkpoint set %d is abandoned: %s", a.Set, a.Why))
		case recovery.Lose:
			l.loss = a.Loss
			for _, p := range l.procs {
				if p.joiner && !p.dead { // it gets no state any more
					p.dismissed = true
					p.tell(job.Release{})
				}
			}
			return false
		}
	}
	return true
}

// admitted notes that a process lives in the job.
func (l *localJob) admitted(p *process) {
	if p.joiner {
		p.joiner = false
		l.want.Joined = append(l.want.Joined, p.setup.Self)
	}
}
