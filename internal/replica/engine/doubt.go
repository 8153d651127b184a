package engine

import (
	"errors"

	"github.com/intrahpc/intra/internal/job"
)

// errStands means that the job does not go back for what has made the program fail.
var errStands = errors.New("the job does not go back for that")

// doubt notes that this process goes no further, unless that is known or there is nothing
// to go back to, and reports whether there is. It is called with the lock.
func (v *verifier) doubt(f job.Failure) bool {
	if v == nil || !v.backups || v.setup.Check {
		return false
	}
	if v.counts.Doubt == nil {
		v.counts.Doubt = job.NewDoubt(f, v.at()+1, v.sharing.generation)
	}
	return true
}

// doubtSince makes the doubt that there is one about what is wrong since before the safe
// point below, unless it is about something older. It is called with the lock.
func (v *verifier) doubtSince(below uint64, f job.Failure) {
	if d := v.counts.Doubt; d.Below == 0 || below < d.Below {
		v.counts.Doubt = job.NewDoubt(f, d.Point, d.Generation)
		v.counts.Doubt.Below = below
	}
}

// at returns the safe point that the program has come to last.
func (v *verifier) at() uint64 {
	if p := v.passed.Load(); p != nil {
		return p.points.Load()
	}
	return 0
}

// plead waits for what the head decides on the failure of the program, which may come of
// a wrong result: that the job goes back, or that it stands.
func (e *Engine) plead(err error) error {
	e.mu.Lock()
	pleads := !e.recovering.back.Pending() && e.ctx.Err() == nil && e.verifier.doubt(e.failure(err))
	e.mu.Unlock()
	if !pleads {
		return err
	}
	e.head.Tell(e.Snapshot)
	for {
		seen := e.changes.Load()
		e.mu.Lock()
		back, fails, wrong := e.recovering.back.Pending(), e.recovering.fails, e.err
		e.mu.Unlock()
		switch {
		case back:
			return errBack
		case fails && errors.Is(err, errStands) && wrong != nil: // what the program waited for has ended
			return diverged(wrong)
		case fails:
			return err
		}
		if ended := e.poller.Wait(e.ctx, func() bool { return e.changedSince(seen) }); ended != nil {
			return e.ended(ended)
		}
	}
}

// stands returns what the job does not go back for, once the head has said so, of a process
// whose program has returned. It is no use to the others any more, and they may wait for it.
func (e *Engine) stands() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.recovering.fails {
		return nil
	}
	return diverged(e.err)
}

// fail has the program fail, which has or is about to: whatever it waits for ends. It is
// called under the lock.
func (r *recovering) fail(o job.Order) {
	if o.Generation != r.member.Generation() || r.back.Pending() {
		return
	}
	if r.fails = true; r.program != nil {
		r.endRun(errStands)
		if m := r.messages.Load(); m != nil {
			m.Abort(errStands)
		}
	}
}
